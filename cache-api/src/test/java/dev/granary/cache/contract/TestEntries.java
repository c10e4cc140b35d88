package dev.granary.cache.contract;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.testing.TestSeed;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;

/** A generator of test entries with distinct ids and binaries of given sizes. */
public final class TestEntries {
    /** A target of no real driver. */
    public static final Target TARGET =
            new Target(Backend.OPENCL, "test-vendor", "Test Device 9000", "1.2.3");

    /** Another target. */
    public static final Target OTHER_TARGET =
            new Target(Backend.OPENCL, "test-vendor", "Test Device 9000", "1.2.4");

    private static final int VERSION = 8; // offsets in the header of an entry
    private static final int SECTIONS = 12;
    private static final int TABLE = 80;
    private static final int ROW_BYTES = 24;

    private final SplittableRandom random;
    private int count;

    /** Creates a generator named after the test that uses it. */
    public TestEntries(String name) {
        this.random = TestSeed.random(name);
    }

    /** Returns an id that this generator has not returned before. */
    public Id id() {
        return id("kernel-" + count++ + "-" + random.nextLong());
    }

    /** Returns the id of a name. */
    public static Id id(String name) {
        return Id.builder(TARGET).field("test", name).build();
    }

    /** Returns an entry of a new id with one binary of {@code bytes} random bytes. */
    public Entry entry(int bytes) {
        return entry(id(), bytes);
    }

    /** Returns an entry of {@code id} with one binary of {@code bytes} random bytes. */
    public Entry entry(Id id, int bytes) {
        return entry(id, KernelBinaries.of(bytes(bytes)));
    }

    /** Returns an entry of {@code id} with these binaries. */
    public static Entry entry(Id id, KernelBinaries binaries) {
        return Entry.of(
                id,
                binaries,
                Duration.ofMillis(250),
                new EntryMetadata(
                        "test",
                        "test-producer",
                        Instant.ofEpochSecond(1_700_000_000),
                        List.of("k"),
                        List.of(),
                        "a test kernel"));
    }

    /**
     * Changes the encoded entry at {@code start} to a later format version, with a matching
     * checksum.
     */
    public static void setLaterVersion(byte[] bytes, int start) {
        setVersion(bytes, start, 99);
    }

    /** Changes the encoded entry at {@code start} to a format version, in the same way. */
    public static void setVersion(byte[] bytes, int start, int version) {
        ByteBuffer header = ByteBuffer.wrap(bytes, start, bytes.length - start).slice();
        header.putShort(VERSION, (short) version);
        int covered = TABLE + (header.getShort(SECTIONS) & 0xffff) * ROW_BYTES;
        CRC32C crc = new CRC32C();
        crc.update(header.duplicate().limit(covered));
        header.putInt(covered, (int) crc.getValue());
    }

    /** Returns random bytes. */
    public byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Returns bytes that compress well. */
    public static byte[] compressible(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i / 64);
        }
        return bytes;
    }

    /** Returns the underlying random generator. */
    public SplittableRandom random() {
        return random;
    }
}
