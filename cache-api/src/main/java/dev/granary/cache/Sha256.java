package dev.granary.cache;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;

/** A SHA-256 digest (FIPS 180-4) of 32 bytes, compared by content. Immutable. */
public final class Sha256 {
    /** The length of a digest in bytes. */
    public static final int BYTES = 32;

    private static final long CHUNK = 1L << 30; // a byte buffer has at most 2^31 - 1 bytes

    private final byte[] digest;

    private Sha256(byte[] digest) {
        this.digest = digest;
    }

    /** Returns the digest of {@code content}. */
    public static Sha256 of(byte[] content) {
        return new Sha256(newDigest().digest(content));
    }

    /**
     * Returns the digest of the segments, each preceded by its length as eight big-endian bytes, so
     * that boundaries count.
     */
    static Sha256 framed(Iterable<MemorySegment> parts) {
        MessageDigest sha = newDigest();
        for (MemorySegment part : parts) {
            sha.update(Id.Encoder.longBytes(part.byteSize()));
            for (long at = 0; at < part.byteSize(); at += CHUNK) {
                sha.update(
                        part.asSlice(at, Math.min(CHUNK, part.byteSize() - at)).asByteBuffer());
            }
        }
        return new Sha256(sha.digest());
    }

    /**
     * Returns a digest with these bytes.
     *
     * @throws IllegalArgumentException if {@code digest} does not have 32 bytes
     */
    public static Sha256 ofDigest(byte[] digest) {
        if (digest.length != BYTES) {
            throw new IllegalArgumentException(
                    "A SHA-256 digest has " + BYTES + " bytes, not " + digest.length);
        }
        return new Sha256(digest.clone());
    }

    /**
     * Parses 64 lower-case hexadecimal digits.
     *
     * @throws IllegalArgumentException if {@code hex} is anything else
     */
    public static Sha256 parse(String hex) {
        if (hex.length() == 2 * BYTES && hex.equals(hex.toLowerCase(Locale.ROOT))) {
            return new Sha256(HexFormat.of().parseHex(hex));
        }
        throw new IllegalArgumentException("Not a name of 64 lower-case hexadecimal digits: "
                + hex.substring(0, Math.min(hex.length(), 80)));
    }

    /** Returns a copy of the 32 bytes. */
    public byte[] bytes() {
        return digest.clone();
    }

    /** Returns the first eight bytes as a big-endian number. */
    public long prefix() {
        return ByteBuffer.wrap(digest).getLong();
    }

    /** Returns the digest as 64 lower-case hexadecimal digits. */
    public String hex() {
        return HexFormat.of().formatHex(digest);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Sha256 that && Arrays.equals(digest, that.digest);
    }

    @Override
    public int hashCode() {
        return (int) prefix();
    }

    @Override
    public String toString() {
        return hex();
    }

    private static MessageDigest newDigest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("This Java platform lacks the required SHA-256", e);
        }
    }
}
