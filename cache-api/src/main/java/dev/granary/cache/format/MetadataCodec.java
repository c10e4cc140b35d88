package dev.granary.cache.format;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.util.Util;

import dev.granary.cache.EntryMetadata;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The codec of the metadata section, based on Kryo. Registration is required, registration numbers
 * are fixed, and the serializer checks every length against the remaining bytes before it
 * allocates. Input must have passed the section's checksum.
 */
final class MetadataCodec {
    /**
     * The class number of this encoding, which never changes. A new encoding takes the next number.
     * It is read here and not by Kryo, whose own classes under lower numbers include strings, which
     * allocate the length that they read, and classes by name, which would be loaded.
     */
    private static final int METADATA_V1 = 12;

    private static final String UNSAFE = "kryo.unsafe";

    static {
        loadWithoutUnsafe();
    }

    private static final Kryo KRYO = kryo(); // not thread-safe, and slow to create

    private MetadataCodec() {}

    /**
     * Loads the class of Kryo that looks for {@code sun.misc.Unsafe}, of whose use the JVM warns on
     * standard error, and turns that off meanwhile. The codec has no use for it. A value that the
     * program has set stays.
     */
    private static void loadWithoutUnsafe() {
        if (System.getProperties().putIfAbsent(UNSAFE, "false") == null) {
            try {
                Class.forName(Util.class.getName());
            } catch (ClassNotFoundException e) {
                throw new IllegalStateException(e);
            } finally {
                System.clearProperty(UNSAFE);
            }
        }
    }

    static synchronized byte[] encode(EntryMetadata metadata) {
        try (Output out = new Output(256, -1)) {
            out.writeVarInt(METADATA_V1, true);
            KRYO.writeObject(out, metadata);
            return out.toBytes();
        }
    }

    /** Returns the metadata, or empty if this version cannot decode the bytes. */
    static synchronized Optional<EntryMetadata> decode(byte[] stored) {
        try (Input in = new Input(stored)) {
            return in.readVarInt(true) == METADATA_V1
                    ? Optional.of(KRYO.readObject(in, EntryMetadata.class))
                    : Optional.empty();
        } catch (KryoException | DateTimeException | IndexOutOfBoundsException e) {
            return Optional.empty(); // from another version; metadata only informs people
        }
    }

    private static Kryo kryo() {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(true);
        kryo.setReferences(false);
        kryo.register(EntryMetadata.class, new MetadataSerializer());
        return kryo;
    }

    /** Serializer of version 1 of the metadata. */
    private static final class MetadataSerializer extends Serializer<EntryMetadata> {
        MetadataSerializer() {
            super(false, true);
        }

        @Override
        public void write(Kryo kryo, Output out, EntryMetadata metadata) {
            writeText(out, metadata.granaryVersion());
            writeText(out, metadata.producer());
            out.writeLong(metadata.createdAt().toEpochMilli());
            writeTexts(out, metadata.kernels());
            writeTexts(out, metadata.geometries());
            writeText(out, metadata.readableKey());
        }

        @Override
        public EntryMetadata read(Kryo kryo, Input in, Class<? extends EntryMetadata> type) {
            String granaryVersion = readText(in);
            String producer = readText(in);
            Instant createdAt = Instant.ofEpochMilli(in.readLong());
            return new EntryMetadata(
                    granaryVersion,
                    producer,
                    createdAt,
                    readTexts(in),
                    readTexts(in),
                    readText(in));
        }

        private static void writeTexts(Output out, List<String> texts) {
            out.writeInt(texts.size());
            texts.forEach(text -> writeText(out, text));
        }

        private static void writeText(Output out, String text) {
            byte[] bytes = text.getBytes(UTF_8);
            out.writeInt(bytes.length);
            out.writeBytes(bytes);
        }

        private static List<String> readTexts(Input in) {
            int count = checkedLength(in);
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                texts.add(readText(in));
            }
            return texts;
        }

        private static String readText(Input in) {
            return new String(in.readBytes(checkedLength(in)), UTF_8);
        }

        private static int checkedLength(Input in) {
            int length = in.readInt();
            if (length < 0 || length > in.limit() - in.position()) {
                throw new KryoException("A length of " + length + " with "
                        + (in.limit() - in.position()) + " bytes left");
            }
            return length;
        }
    }
}
