package dev.granary.cache;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The bytes that identify a binary representation: equal ids mean interchangeable binaries. Immutable, thread-safe.
 *
 * <p>An id is self-describing: a magic number and a schema number, then framed fields (name and value, each with its length before it),
 * of which the first four are the {@link Target}. The whole id is stored inside every entry and compared at every read; its SHA-256 is
 * only the name under which the entry is found. A change of what any field means raises {@link #SCHEMA}, which changes every id: entries
 * of another schema are neither read nor touched.
 *
 * <p>The {@linkplain #notCacheable empty id} says that a primitive cannot be cached, and why.
 */
public final class Id {
    /** The schema of the fields; part of every id. */
    public static final int SCHEMA = 1;

    /** No id is longer than this, in bytes: a stored length above it is damage, not a key. */
    public static final int MAX_BYTES = 64 << 20;

    private static final byte[] MAGIC = {'G', 'R', 'I', 'D', 0, (byte) SCHEMA};
    private static final List<String> TARGET_FIELDS = List.of("backend", "vendor", "device", "driver");

    private final byte[] bytes;
    private final @Nullable Target target;
    private final String reason;
    private @Nullable Sha256 hash; // computed at first use; a race computes it twice, to the same value

    private Id(byte[] bytes, @Nullable Target target, String reason) {
        this.bytes = bytes;
        this.target = target;
        this.reason = reason;
    }

    /** One named value of an id. */
    public static final class Field {
        private final String name;
        private final byte[] value;

        private Field(String name, byte[] value) {
            this.name = name;
            this.value = value;
        }

        /** The name, such as {@code options}. */
        public String name() {
            return name;
        }

        /** The value, a copy. */
        public byte[] value() {
            return value.clone();
        }

        /** The value as UTF-8 text. */
        public String text() {
            return new String(value, UTF_8);
        }
    }

    /** Collects the fields of an id in order; the order counts. Not thread-safe. */
    public static final class Builder {
        private final Target target;
        private final IdEncoder out = new IdEncoder().raw(MAGIC);
        private String reason = ""; // why there will be no id

        private Builder(Target target) {
            this.target = target;
            field("backend", target.backend().path());
            field("vendor", target.vendor());
            field("device", target.device());
            field("driver", target.driver());
        }

        /** Adds a field of bytes. */
        public Builder field(String name, byte[] value) {
            out.bytes(name.getBytes(UTF_8)).bytes(value);
            return this;
        }

        /** Adds a field of text, as UTF-8. Text with half a surrogate pair has no UTF-8 of its own: nothing with it can be cached. */
        public Builder field(String name, String value) {
            if (!UTF_8.newEncoder().canEncode(value)) {
                reason = "the field " + name + " holds half a surrogate pair, which is no text";
            }
            return field(name, value.getBytes(UTF_8));
        }

        /** Adds a field with a number, as eight big-endian bytes. */
        public Builder field(String name, long value) {
            return field(name, IdEncoder.longBytes(value));
        }

        /**
         * The id; the empty one, with its reason, where a field cannot be told apart from another.
         *
         * @throws IllegalArgumentException if it has more than {@link #MAX_BYTES} bytes
         */
        public Id build() {
            byte[] bytes = out.toByteArray();
            if (bytes.length > MAX_BYTES) {
                throw new IllegalArgumentException("An id of " + bytes.length + " bytes is longer than " + MAX_BYTES);
            }
            return reason.isEmpty() ? new Id(bytes, target, "") : notCacheable(reason);
        }
    }

    /** Starts an id for binaries of that target. */
    public static Builder builder(Target target) {
        return new Builder(target);
    }

    /** The empty id: what it would name cannot be cached, for the reason given. */
    public static Id notCacheable(String reason) {
        return new Id(new byte[0], null, reason);
    }

    /**
     * The id whose bytes were stored, or empty where the bytes are none of this schema. Safe for bytes from anywhere: it throws for none, and
     * allocates no more than they take.
     */
    public static Optional<Id> parse(byte[] stored) {
        ByteBuffer in = body(stored);
        if (in == null) {
            return Optional.empty();
        }
        List<String> target = new ArrayList<>();
        for (String name : TARGET_FIELDS) {
            Field field = nextField(in);
            if (field == null || !field.name().equals(name) || !isText(field.value)) {
                return Optional.empty();
            }
            target.add(field.text());
        }
        while (in.hasRemaining()) {
            ByteBuffer name = frame(in);
            if (name == null || frame(in) == null) {
                return Optional.empty();
            }
        }
        return Backend.ofPath(target.get(0))
                .map(backend -> new Target(backend, target.get(1), target.get(2), target.get(3)))
                .map(known -> new Id(stored.clone(), known, ""));
    }

    /** True where the primitive cannot be cached; {@link #reason()} says why. */
    public boolean isEmpty() {
        return bytes.length == 0;
    }

    /** Why this id is empty; empty text where it is not. */
    public String reason() {
        return reason;
    }

    /** The id's bytes, a copy; none for the empty id. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** How many bytes the id has. */
    public int length() {
        return bytes.length;
    }

    /** True where {@code stored}, from its position to its limit, is exactly this id's bytes. */
    public boolean matches(ByteBuffer stored) {
        return ByteBuffer.wrap(bytes).equals(stored);
    }

    /**
     * The target of the binaries.
     *
     * @throws IllegalStateException for the empty id
     */
    public Target target() {
        if (target == null) {
            throw new IllegalStateException("The empty id has no target: " + reason);
        }
        return target;
    }

    /**
     * The SHA-256 of the bytes, which names the entry in every store.
     *
     * @throws IllegalStateException for the empty id
     */
    public Sha256 hash() {
        if (isEmpty()) {
            throw new IllegalStateException("The empty id names nothing: " + reason);
        }
        Sha256 known = hash;
        if (known == null) {
            known = Sha256.of(bytes);
            hash = known;
        }
        return known;
    }

    /** All fields in order, target first; none for the empty id. */
    public List<Field> fields() {
        List<Field> fields = new ArrayList<>();
        ByteBuffer in = body(bytes);
        Field next = in == null ? null : nextField(in);
        while (in != null && next != null) {
            fields.add(next);
            next = nextField(in);
        }
        return List.copyOf(fields);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Id that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return isEmpty() ? "(not cacheable: " + reason + ")" : hash().hex();
    }

    /** What follows the magic and schema number, or null where they are not ours. */
    private static @Nullable ByteBuffer body(byte[] stored) {
        return stored.length <= MAX_BYTES && stored.length >= MAGIC.length && Arrays.equals(stored, 0, MAGIC.length, MAGIC, 0, MAGIC.length)
                ? ByteBuffer.wrap(stored, MAGIC.length, stored.length - MAGIC.length)
                : null;
    }

    private static @Nullable Field nextField(ByteBuffer in) {
        ByteBuffer name = frame(in);
        ByteBuffer value = name == null ? null : frame(in);
        return name == null || value == null ? null : new Field(UTF_8.decode(name).toString(), bytesOf(value));
    }

    /** The next framed bytes, a view, or null where they are not all there. */
    private static @Nullable ByteBuffer frame(ByteBuffer in) {
        if (in.remaining() < Integer.BYTES) {
            return null;
        }
        int length = in.getInt();
        if (length < 0 || length > in.remaining()) {
            return null;
        }
        ByteBuffer framed = in.slice(in.position(), length);
        in.position(in.position() + length);
        return framed;
    }

    private static byte[] bytesOf(ByteBuffer view) {
        byte[] bytes = new byte[view.remaining()];
        view.get(bytes);
        return bytes;
    }

    /** Whether these are the bytes of some text that is not blank, and of no other text. */
    private static boolean isText(byte[] value) {
        String text = new String(value, UTF_8);
        return !text.isBlank() && Arrays.equals(text.getBytes(UTF_8), value);
    }
}
