package dev.granary.it.crash;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;

import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * Entries whose binary is a function of a key, which is in the id, and a version, which is in the
 * first eight bytes of the binary.
 */
final class SelfDescribingEntries {
    /** Number of keys of each writer. */
    static final int KEYS = 600;

    /**
     * Number of keys that all writers share. Their entries have only version
     * {@value #SHARED_VERSION}.
     */
    static final int SHARED_KEYS = 200;

    static final long SHARED_VERSION = 1;

    private static final Target TARGET = new Target(Backend.OPENCL, "crash", "Crash Device", "1");
    private static final ValueLayout.OfLong VERSION =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int USUAL_BYTES = 8 << 10;
    static final int LARGE_BYTES = 200 << 10;
    private static final int LARGE_ODDS = 50;

    private SelfDescribingEntries() {}

    /** Returns key number {@code index} of a writer. */
    static String key(int writer, int index) {
        return "w" + writer + "-" + index;
    }

    static String sharedKey(int index) {
        return "shared-" + index;
    }

    static Id id(String key) {
        return Id.builder(TARGET).field("key", key).build();
    }

    static Entry entry(String key, long version) {
        SplittableRandom random = new SplittableRandom(key.hashCode() * 0x9e3779b9L + version);
        byte[] binary = new byte[Long.BYTES + length(random)];
        random.nextBytes(binary);
        ByteBuffer.wrap(binary).putLong(0, version);
        EntryMetadata metadata =
                new EntryMetadata("crash", "crash", Instant.EPOCH, List.of("k"), List.of(), key);
        return Entry.of(id(key), KernelBinaries.of(binary), Duration.ofMillis(100), metadata);
    }

    private static int length(SplittableRandom random) {
        return random.nextInt(random.nextInt(LARGE_ODDS) == 0 ? LARGE_BYTES : USUAL_BYTES);
    }

    /** Returns the version of an entry; empty if any byte differs from that version of that key. */
    static OptionalLong version(Entry read) {
        if (read.binaries().segments().size() != 1 || read.binaries().byteSize() < Long.BYTES) {
            return OptionalLong.empty();
        }
        long version = read.binaries().segments().getFirst().get(VERSION, 0);
        String key = read.id().fields().getLast().text();
        Entry expected = entry(key, version);
        return expected.id().equals(read.id()) && expected.binaries().equals(read.binaries())
                ? OptionalLong.of(version)
                : OptionalLong.empty();
    }
}
