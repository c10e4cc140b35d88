package dev.granary.cache.format;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** A named private key that signs entries. Immutable and thread-safe; shows the key nowhere. */
public final class EntrySigner {
    /** Fills a tree up to a power of two; no content has this hash. */
    private static final Sha256 NO_ENTRY = Sha256.ofDigest(new byte[Sha256.BYTES]);

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
        EntrySignature signature = sign(List.of(EntrySignature.leaf(entry))).getFirst();
        return EntryFormat.signed(entry, signature, this);
    }

    /** Returns the signer that has signed {@code entry} in this process, if one has. */
    public static Optional<EntrySigner> of(Entry entry) {
        return Optional.ofNullable(EntryFormat.unhashed(entry).signer());
    }

    /**
     * Returns the signatures of entries that share one check.
     *
     * @param leaves the {@linkplain EntrySignature#leaf hashes} of entries that this process may
     *     sign
     * @throws IllegalArgumentException if there is none, or there are more than 262,144
     */
    public List<EntrySignature> sign(List<Sha256> leaves) {
        int depth = Integer.SIZE - Integer.numberOfLeadingZeros(leaves.size() - 1);
        if (leaves.isEmpty() || depth * Sha256.BYTES > EntrySignature.MAX_PATH_BYTES) {
            throw new IllegalArgumentException(leaves.size() + " entries in one tree");
        }
        List<List<Sha256>> levels = new ArrayList<>();
        List<Sha256> level = new ArrayList<>(leaves);
        level.addAll(Collections.nCopies((1 << depth) - leaves.size(), NO_ENTRY));
        while (level.size() > 1) {
            levels.add(level);
            List<Sha256> above = new ArrayList<>();
            for (int i = 0; i < level.size(); i += 2) {
                above.add(EntrySignature.node(level.get(i), level.get(i + 1)));
            }
            level = above;
        }
        byte[] value = sign(EntrySignature.message(level.getFirst(), name));
        List<EntrySignature> signatures = new ArrayList<>();
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            ByteBuffer path = ByteBuffer.allocate(depth * Sha256.BYTES);
            for (int i = 0; i < depth; i++) {
                path.put(levels.get(i).get(leaf >> i ^ 1).bytes());
            }
            signatures.add(new EntrySignature(name, value, leaf, path.array()));
        }
        return signatures;
    }

    private byte[] sign(byte[] message) {
        try {
            Signature signer = Signature.getInstance(EntrySignature.ALGORITHM);
            signer.initSign(key);
            signer.update(message);
            return signer.sign();
        } catch (GeneralSecurityException e) { // the constructor has tried the key
            throw new IllegalStateException(e);
        }
    }
}
