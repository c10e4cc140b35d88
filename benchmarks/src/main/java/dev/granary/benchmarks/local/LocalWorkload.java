package dev.granary.benchmarks.local;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

/**
 * Numbered entries with random content. Equal seeds and numbers give equal entries in all
 * processes. Thread-safe.
 */
final class LocalWorkload {
    private static final Target TARGET = new Target(Backend.OPENCL, "bench", "Bench Device", "1");
    private static final EntryMetadata METADATA =
            new EntryMetadata("bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
    private static final double MEDIAN_BYTES = 32 << 10;
    private static final double SIGMA = 1.49; // one entry in a hundred is larger than 1 MiB
    private static final int LARGEST_BYTES = 8 << 20;

    private final long seed;
    private final int entries;
    private final Map<String, List<Item>> sets = new ConcurrentHashMap<>();

    /**
     * Creates a workload.
     *
     * @param seed decides sizes and contents
     * @param entries the number of entries of each set
     */
    LocalWorkload(long seed, int entries) {
        this.seed = seed;
        this.entries = entries;
    }

    /** Sizes of a set of entries. */
    enum Sizes {
        /** 64 bytes: some 300 with key, metadata and header. */
        TINY(64),
        KIB_4(4 << 10),
        KIB_32(32 << 10),
        KIB_100(100 << 10),
        /** As compiled kernels: log-normal, median 32 KiB, mean 100 KB. */
        MIXED(0);

        private final int bytes;

        Sizes(int bytes) {
            this.bytes = bytes;
        }

        private int next(SplittableRandom random) {
            return bytes > 0
                    ? bytes
                    : (int) Math.min(
                            LARGEST_BYTES, MEDIAN_BYTES * Math.exp(SIGMA * random.nextGaussian()));
        }
    }

    /**
     * Entry to put, in the form of the tier and in that of a file.
     *
     * @param entry the entry; its SHA-256 is computed, as after a compile or a download
     * @param frame the encoded entry
     */
    record Item(Entry entry, MemorySegment frame) {
        Id id() {
            return entry.id();
        }
    }

    /** Returns the number of entries of a set. */
    int entries() {
        return entries;
    }

    /** Returns an id. Its hash is computed, as at a second lookup. */
    static Id id(Sizes sizes, int index) {
        Id id = Id.builder(TARGET)
                .field("sizes", sizes.name())
                .field("n", index)
                .build();
        id.hash();
        return id;
    }

    /** Returns the set of these sizes, with one of its contents; it is kept. */
    List<Item> set(Sizes sizes, int version) {
        return sets.computeIfAbsent(sizes + " " + version, _ -> items(sizes, 0, entries, version));
    }

    /** Returns the entries from {@code from} to {@code to}, exclusive. */
    List<Item> items(Sizes sizes, int from, int to, int version) {
        return IntStream.range(from, to)
                .mapToObj(index -> item(sizes, index, version))
                .toList();
    }

    /** Returns an entry. Entry and frame share their memory. */
    Item item(Sizes sizes, int index, int version) {
        byte[] binary = new byte[sizes.next(new SplittableRandom(seed * 31 + index))];
        new SplittableRandom((seed * 31 + index) * 31 + version).nextBytes(binary);
        Id id = id(sizes, index);
        Entry made = Entry.of(id, KernelBinaries.of(binary), Duration.ofMillis(100), METADATA);
        MemorySegment frame = MemorySegment.ofArray(EntryFormat.encode(made, Compression.NONE));
        if (EntryFormat.decode(frame, id, VerificationLevel.CHECKSUMS)
                instanceof LoadResult.Hit hit) {
            return new Item(hit.entry(), frame);
        }
        throw new IllegalStateException("The frame of entry " + index + " does not decode");
    }
}
