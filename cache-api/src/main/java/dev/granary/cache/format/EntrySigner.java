package dev.granary.cache.format;

import dev.granary.cache.Entry;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;

/** A named private key that signs entries. Immutable and thread-safe; shows the key nowhere. */
public final class EntrySigner {
    private final String name;
    private final PrivateKey key;

    /**
     * Creates a signer.
     *
     * @param name the name by which readers know the public key
     * @throws IllegalArgumentException if the name is none, or the key is not for Ed25519
     */
    public EntrySigner(String name, PrivateKey key) {
        if (!EntrySignature.NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("The name of a key has 1 to 63 lower-case letters,"
                    + " digits, dots, dashes and underscores, not '" + name + "'");
        }
        try {
            Signature.getInstance(EntrySignature.ALGORITHM).initSign(key);
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("The key " + name + " is not for Ed25519", e);
        }
        this.name = name;
        this.key = key;
    }

    /** Returns the name of the key. */
    public String name() {
        return name;
    }

    /** Returns the entry with a signature, in place of one that it may have. */
    public Entry sign(Entry entry) {
        try {
            Signature signer = Signature.getInstance(EntrySignature.ALGORITHM);
            signer.initSign(key);
            signer.update(EntrySignature.message(entry, name));
            return EntryFormat.signed(entry, new EntrySignature(name, signer.sign()));
        } catch (GeneralSecurityException e) { // the constructor has tried the key
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String toString() {
        return "signer " + name;
    }
}
