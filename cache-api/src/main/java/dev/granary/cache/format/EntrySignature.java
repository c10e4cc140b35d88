package dev.granary.cache.format;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.Signature;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The signature of an entry: Ed25519 (RFC 8032), with the name of its key. It covers the format,
 * the name of the key, the id with its target, the binaries, the compile time and the metadata.
 * Immutable and thread-safe.
 */
public final class EntrySignature {
    /** The algorithm, by its name in Java and in RFC 8410. */
    public static final String ALGORITHM = "Ed25519";

    /** The names of keys. */
    public static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

    /** The start of each signed message: signatures of other things by the key fit no entry. */
    private static final byte[] CONTEXT = "granary entry\0".getBytes(US_ASCII);

    private static final int MAX_MESSAGE_BYTES = 256;
    private static final byte FORM = 1;
    private static final int BYTES = 64;

    private final String keyName;
    private final byte[] value;

    EntrySignature(String keyName, byte[] value) {
        this.keyName = keyName;
        this.value = value;
    }

    /** Returns the signature of an entry; empty if it has none, or one of another form. */
    public static Optional<EntrySignature> of(Entry entry) {
        ByteBuffer in = EntryFormat.unhashed(entry).signature().asByteBuffer();
        if (in.remaining() <= 2 + BYTES
                || in.get() != FORM
                || (in.get() & 0xff) != in.remaining() - BYTES) {
            return Optional.empty();
        }
        byte[] name = new byte[in.remaining() - BYTES];
        in.get(name);
        String keyName = new String(name, US_ASCII);
        byte[] value = new byte[BYTES];
        in.get(value);
        return NAME.matcher(keyName).matches()
                ? Optional.of(new EntrySignature(keyName, value))
                : Optional.empty();
    }

    /** Returns the name of the key, which anybody may have written. */
    public String keyName() {
        return keyName;
    }

    /** Returns true if {@code key} made this signature for {@code entry} as it is in memory. */
    boolean isBy(PublicKey key, Entry entry) {
        try {
            Signature verifier = Signature.getInstance(ALGORITHM);
            verifier.initVerify(key);
            verifier.update(message(entry, keyName));
            return verifier.verify(value);
        } catch (GeneralSecurityException e) {
            return false;
        }
    }

    /** Returns what stands for this signature of this entry among all. */
    Sha256 digest(Entry entry) {
        byte[] message = message(entry, keyName);
        byte[] all = Arrays.copyOf(message, message.length + BYTES);
        System.arraycopy(value, 0, all, message.length, BYTES);
        return Sha256.of(all);
    }

    /** Returns the signed bytes of an entry. The hash of the content is computed anew. */
    static byte[] message(Entry entry, String keyName) {
        byte[] name = keyName.getBytes(US_ASCII);
        byte[] metadata = EntryFormat.unhashed(entry).metadata().toArray(ValueLayout.JAVA_BYTE);
        ByteBuffer out = ByteBuffer.allocate(MAX_MESSAGE_BYTES)
                .put(CONTEXT)
                .putShort((short) EntryFormat.VERSION)
                .put((byte) name.length)
                .put(name)
                .putLong(EntryFormat.compileNanos(entry))
                .put(Entry.contentHash(entry.id(), entry.binaries()).bytes())
                .put(Sha256.of(metadata).bytes());
        return Arrays.copyOf(out.array(), out.position());
    }

    /** Returns the stored form. */
    MemorySegment encoded() {
        byte[] name = keyName.getBytes(US_ASCII);
        return MemorySegment.ofArray(ByteBuffer.allocate(2 + name.length + BYTES)
                .put(FORM)
                .put((byte) name.length)
                .put(name)
                .put(value)
                .array());
    }
}
