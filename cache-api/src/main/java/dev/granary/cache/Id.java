package dev.granary.cache;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The bytes that identify a binary representation: equal ids mean interchangeable binaries.
 * Immutable and thread-safe.
 *
 * <p>An id is self-describing. It starts with a magic number and a schema number, followed by
 * framed fields: name and value, each preceded by its length. The first four fields are the
 * {@link Target}. Every entry contains its whole id, which every read compares; the SHA-256 of the
 * id only locates the entry. A change in the meaning of any field raises {@link #SCHEMA}, which
 * changes every id. Entries of another schema are neither read nor modified.
 *
 * <p>The {@linkplain #notCacheable empty id} denotes a primitive that cannot be cached, with the
 * reason.
 */
public final class Id {
    /** The schema of the fields, part of every id. */
    public static final int SCHEMA = 1;

    /** The greatest length of an id in bytes. A stored length above it is damage. */
    public static final int MAX_BYTES = 64 << 20;

    private static final byte[] MAGIC = {'G', 'R', 'I', 'D', 0, (byte) SCHEMA};
    private static final List<String> TARGET_FIELDS =
            List.of("backend", "vendor", "device", "driver");

    private final byte[] bytes;
    private final @Nullable Target target;
    private final String reason;
    // computed on first use; a race computes the same value twice
    private @Nullable Sha256 hash;

    private Id(byte[] bytes, @Nullable Target target, String reason) {
        this.bytes = bytes;
        this.target = target;
        this.reason = reason;
    }

    /** A named value of an id. */
    public static final class Field {
        private final String name;
        private final byte[] value;

        private Field(String name, byte[] value) {
            this.name = name;
            this.value = value;
        }

        /** Returns the name, such as {@code options}. */
        public String name() {
            return name;
        }

        /** Returns a copy of the value. */
        public byte[] value() {
            return value.clone();
        }

        /** Returns the value as UTF-8 text. */
        public String text() {
            return new String(value, UTF_8);
        }
    }

    /** A builder of an id, from fields in order; the order matters. Not thread-safe. */
    public static final class Builder {
        private final Target target;
        private final Encoder out = new Encoder().raw(MAGIC);
        private String reason = ""; // why the id is not cacheable; empty if it is

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

        /**
         * Adds a field of text, as UTF-8. An unpaired surrogate has no UTF-8 encoding and makes the
         * id not cacheable.
         */
        public Builder field(String name, String value) {
            if (!UTF_8.newEncoder().canEncode(value)) {
                reason = "the field " + name
                        + " contains an unpaired surrogate, which is not valid text";
            }
            return field(name, value.getBytes(UTF_8));
        }

        /** Adds a numeric field, as eight big-endian bytes. */
        public Builder field(String name, long value) {
            return field(name, Encoder.longBytes(value));
        }

        /**
         * Returns the id, or the empty id with its reason if a field has no unique encoding.
         *
         * @throws IllegalArgumentException if the id is longer than {@link #MAX_BYTES} bytes
         */
        public Id build() {
            byte[] bytes = out.toByteArray();
            if (bytes.length > MAX_BYTES) {
                throw new IllegalArgumentException(
                        "An id of " + bytes.length + " bytes is longer than " + MAX_BYTES);
            }
            return reason.isEmpty() ? new Id(bytes, target, "") : notCacheable(reason);
        }
    }

    /**
     * An encoder of framed fields: each field is preceded by its length as four big-endian bytes,
     * so that field boundaries are unambiguous.
     */
    static final class Encoder {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream(256);

        Encoder raw(byte[] bytes) {
            out.writeBytes(bytes);
            return this;
        }

        Encoder bytes(byte[] bytes) {
            out.writeBytes(
                    ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).array());
            out.writeBytes(bytes);
            return this;
        }

        byte[] toByteArray() {
            return out.toByteArray();
        }

        static byte[] longBytes(long value) {
            return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
        }
    }

    /** Returns a builder of an id for binaries of this target. */
    public static Builder builder(Target target) {
        return new Builder(target);
    }

    /** Returns the empty id of a primitive that cannot be cached for this reason. */
    public static Id notCacheable(String reason) {
        return new Id(new byte[0], null, reason);
    }

    /**
     * Returns the id with these stored bytes, or empty if they are not an id of this schema. Safe
     * for untrusted bytes: it never throws, and allocates memory in proportion to their length.
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
                .map(parsed -> new Id(stored.clone(), parsed, ""));
    }

    /** Returns true if the primitive cannot be cached; {@link #reason()} contains the reason. */
    public boolean isEmpty() {
        return bytes.length == 0;
    }

    /** Returns the reason why this id is empty, or empty text if it is not. */
    public String reason() {
        return reason;
    }

    /** Returns a copy of the id's bytes; none for the empty id. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** Returns the length of the id in bytes. */
    public int length() {
        return bytes.length;
    }

    /** Returns true if {@code stored}, from its position to its limit, equals this id's bytes. */
    public boolean matches(ByteBuffer stored) {
        return ByteBuffer.wrap(bytes).equals(stored);
    }

    /**
     * Returns the target of the binaries.
     *
     * @throws IllegalStateException if this is the empty id
     */
    public Target target() {
        if (target == null) {
            throw new IllegalStateException("The empty id has no target: " + reason);
        }
        return target;
    }

    /**
     * Returns the id of the same inputs for another target: only the fields of the target differ.
     *
     * @throws IllegalStateException if this is the empty id
     * @throws IllegalArgumentException if the id is longer than {@link #MAX_BYTES} bytes
     */
    public Id withTarget(Target other) {
        int start = new Builder(target()).out.toByteArray().length;
        Builder copy = new Builder(other);
        copy.out.raw(Arrays.copyOfRange(bytes, start, bytes.length));
        return copy.build();
    }

    /**
     * Returns the SHA-256 of the bytes, which is the name of the entry in every store.
     *
     * @throws IllegalStateException if this is the empty id
     */
    public Sha256 hash() {
        if (isEmpty()) {
            throw new IllegalStateException("The empty id has no hash: " + reason);
        }
        Sha256 current = hash;
        if (current == null) {
            current = Sha256.of(bytes);
            hash = current;
        }
        return current;
    }

    /** Returns all fields in order, target first; none for the empty id. */
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

    /** Returns the bytes after the magic and schema numbers, or null if those do not match. */
    private static @Nullable ByteBuffer body(byte[] stored) {
        return stored.length <= MAX_BYTES
                        && stored.length >= MAGIC.length
                        && Arrays.equals(stored, 0, MAGIC.length, MAGIC, 0, MAGIC.length)
                ? ByteBuffer.wrap(stored, MAGIC.length, stored.length - MAGIC.length)
                : null;
    }

    private static @Nullable Field nextField(ByteBuffer in) {
        ByteBuffer name = frame(in);
        ByteBuffer value = name == null ? null : frame(in);
        return name == null || value == null
                ? null
                : new Field(UTF_8.decode(name).toString(), bytesOf(value));
    }

    /** Returns a view of the next framed bytes, or null if they are incomplete. */
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

    /** Returns true if the bytes are the unique UTF-8 encoding of text that is not blank. */
    private static boolean isText(byte[] value) {
        String text = new String(value, UTF_8);
        return !text.isBlank() && Arrays.equals(text.getBytes(UTF_8), value);
    }
}
