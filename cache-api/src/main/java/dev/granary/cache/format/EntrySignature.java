package dev.granary.cache.format;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The signature of an entry: Ed25519 (RFC 8032), with the name of its key. It covers the format,
 * the name of the key, the id with its target, the binaries, the compile time and the metadata.
 * Immutable and thread-safe.
 *
 * <p>Entries that are published together share the signature of the root of their hash tree (as in
 * RFC 6962), and each has the hashes beside its path to the root: one check is enough for all.
 */
public final class EntrySignature {
    /** The algorithm, by its name in Java and in RFC 8410. */
    public static final String ALGORITHM = "Ed25519";

    /** The names of keys. */
    public static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

    /** The start of each signed message: signatures of other things by the key fit no entry. */
    private static final byte[] CONTEXT = "granary entries\0".getBytes(US_ASCII);

    private static final byte FORM = 1;
    private static final int BYTES = 64;

    /** The length without the name of the key and the hashes beside the path. */
    private static final int FIXED_BYTES = 2 + BYTES + Integer.BYTES;

    /** The longest path in bytes, of a tree of 262,144 entries. */
    public static final int MAX_PATH_BYTES = 18 * Sha256.BYTES;

    private final String keyName;
    private final byte[] value;
    private final int index; // of the leaf; its bits tell on which side each hash is
    private final byte[] path; // the hashes beside it, from the leaf to the root

    EntrySignature(String keyName, byte[] value, int index, byte[] path) {
        this.keyName = keyName;
        this.value = value;
        this.index = index;
        this.path = path;
    }

    /** Returns the signature of an entry; empty if it has none, or one of another form. */
    public static Optional<EntrySignature> of(Entry entry) {
        ByteBuffer in = EntryFormat.unhashed(entry).signature().asByteBuffer();
        if (in.remaining() <= FIXED_BYTES || in.get() != FORM) {
            return Optional.empty();
        }
        int nameBytes = in.get() & 0xff;
        int pathBytes = in.remaining() + 2 - FIXED_BYTES - nameBytes;
        if (pathBytes < 0 || pathBytes % Sha256.BYTES != 0 || pathBytes > MAX_PATH_BYTES) {
            return Optional.empty();
        }
        String keyName = new String(take(in, nameBytes), US_ASCII);
        byte[] value = take(in, BYTES);
        int index = in.getInt();
        return NAME.matcher(keyName).matches() && (index >>> (pathBytes / Sha256.BYTES)) == 0
                ? Optional.of(new EntrySignature(keyName, value, index, take(in, pathBytes)))
                : Optional.empty();
    }

    private static byte[] take(ByteBuffer in, int length) {
        byte[] taken = new byte[length];
        in.get(taken);
        return taken;
    }

    /** Returns the name of the key, which anybody may have written. */
    public String keyName() {
        return keyName;
    }

    /**
     * Returns true if {@code key} signed {@code entry}: by this signature, or by one that was
     * verified before.
     *
     * @param known the hashes of trees that the key has signed; those that are verified now are
     *     added
     */
    boolean isBy(PublicKey key, Entry entry, Set<Sha256> known) {
        List<Sha256> reached = new ArrayList<>();
        Sha256 here = leaf(entry);
        for (int at = 0; !known.contains(here); at += Sha256.BYTES) {
            reached.add(here);
            if (at == path.length) {
                synchronized (known) { // for others with this root, a wait is cheaper than a check
                    if (!known.contains(here) && !isBy(key, message(here, keyName))) {
                        return false;
                    }
                    known.add(here);
                }
                break;
            }
            Sha256 beside = Sha256.ofDigest(Arrays.copyOfRange(path, at, at + Sha256.BYTES));
            reached.add(beside);
            boolean isLeft = ((index >> (at / Sha256.BYTES)) & 1) == 0;
            here = isLeft ? node(here, beside) : node(beside, here);
        }
        known.addAll(reached);
        return true;
    }

    private boolean isBy(PublicKey key, byte[] message) {
        try {
            Signature verifier = Signature.getInstance(ALGORITHM);
            verifier.initVerify(key);
            verifier.update(message);
            return verifier.verify(value);
        } catch (GeneralSecurityException e) {
            return false;
        }
    }

    /** Returns what is signed for a tree of that root. */
    static byte[] message(Sha256 root, String keyName) {
        byte[] name = keyName.getBytes(US_ASCII);
        return ByteBuffer.allocate(CONTEXT.length + 1 + name.length + Sha256.BYTES)
                .put(CONTEXT)
                .put((byte) name.length)
                .put(name)
                .put(root.bytes())
                .array();
    }

    /**
     * Returns the hash of an entry in a tree. The hash of the content is computed, unless the
     * decoder of the entry has done so.
     */
    public static Sha256 leaf(Entry entry) {
        EntryFormat.UnhashedSections unhashed = EntryFormat.unhashed(entry);
        MemorySegment metadata = unhashed.metadata();
        Sha256 content = unhashed.isHashed()
                ? entry.contentHash()
                : Entry.contentHash(entry.id(), entry.binaries());
        return Sha256.of(ByteBuffer.allocate(
                        1 + Short.BYTES + Long.BYTES + Sha256.BYTES + (int) metadata.byteSize())
                .put((byte) 0)
                .putShort((short) EntryFormat.VERSION)
                .putLong(EntryFormat.compileNanos(entry))
                .put(content.bytes())
                .put(metadata.asByteBuffer())
                .array());
    }

    static Sha256 node(Sha256 left, Sha256 right) {
        return Sha256.of(ByteBuffer.allocate(1 + Sha256.BYTES + Sha256.BYTES)
                .put((byte) 1)
                .put(left.bytes())
                .put(right.bytes())
                .array());
    }

    /** Returns the stored form. */
    MemorySegment encoded() {
        byte[] name = keyName.getBytes(US_ASCII);
        return MemorySegment.ofArray(ByteBuffer.allocate(FIXED_BYTES + name.length + path.length)
                .put(FORM)
                .put((byte) name.length)
                .put(name)
                .put(value)
                .putInt(index)
                .put(path)
                .array());
    }
}
