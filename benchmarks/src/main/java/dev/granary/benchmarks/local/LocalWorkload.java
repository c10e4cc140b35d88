package dev.granary.benchmarks.local;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.format.WriteAttemptId;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Numbered entries of the sizes that compiled kernels have: log-normal, median 32 KiB, one in a
 * hundred above 1 MiB; random content. The same number is the same entry in every process with that
 * seed. Entries are made when asked for, so that all of them need not fit in memory.
 */
final class LocalWorkload {
    private static final Target TARGET = new Target(Backend.OPENCL, "bench", "Bench Device", "1");
    private static final EntryMetadata METADATA =
            new EntryMetadata("bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
    private static final double MEDIAN_BYTES = 32 << 10;
    private static final double SIGMA = 1.49;
    private static final int LARGEST_BYTES = 8 << 20;
    private static final int TINY_BYTES = 64; // with key, metadata and table some 300

    private final long seed;
    private final int[] sizes;

    private LocalWorkload(long seed, int[] sizes) {
        this.seed = seed;
        this.sizes = sizes;
    }

    /** {@code count} entries of the workload. */
    static LocalWorkload workload(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        return new LocalWorkload(
                seed,
                IntStream.range(0, count)
                        .map(_ -> (int) Math.min(
                                LARGEST_BYTES,
                                MEDIAN_BYTES * Math.exp(SIGMA * random.nextGaussian())))
                        .toArray());
    }

    /** {@code count} entries of about 300 bytes. */
    static LocalWorkload tiny(long seed, int count) {
        return new LocalWorkload(
                seed, IntStream.range(0, count).map(_ -> TINY_BYTES).toArray());
    }

    /** How many entries there are. */
    int count() {
        return sizes.length;
    }

    /** The bytes of all binaries. */
    long bytes() {
        return IntStream.of(sizes).asLongStream().sum();
    }

    /** How many bytes each binary has. */
    int[] sizes() {
        return sizes.clone();
    }

    /**
     * The id of entry {@code index}; its hash is computed already, as it is for whoever looks up
     * twice.
     */
    static Id id(int index) {
        Id id = Id.builder(TARGET).field("n", index).build();
        id.hash();
        return id;
    }

    /** The ids of all entries, in order. */
    List<Id> ids() {
        return IntStream.range(0, sizes.length).mapToObj(LocalWorkload::id).toList();
    }

    /** The ids of the entries of about 32 KiB: 24 to 40. */
    List<Id> typicalIds() {
        return IntStream.range(0, sizes.length)
                .filter(i -> sizes[i] >> 10 >= 24 && sizes[i] >> 10 < 40)
                .mapToObj(LocalWorkload::id)
                .toList();
    }

    /** Entries {@code from} to {@code to}, without the latter. */
    List<WorkloadItem> items(int from, int to) {
        return IntStream.range(from, to).mapToObj(this::item).toList();
    }

    /**
     * Entry {@code index}. Entry and frame share their memory, and the content's SHA-256 is known,
     * as after a compile or a download.
     */
    WorkloadItem item(int index) {
        byte[] binary = new byte[sizes[index]];
        new SplittableRandom(seed * 31 + index).nextBytes(binary);
        Id id = id(index);
        Entry made = Entry.of(id, KernelBinaries.of(binary), Duration.ofMillis(100), METADATA);
        byte[] frame = EntryFormat.encode(made, Compression.NONE, WriteAttemptId.NONE);
        if (EntryFormat.decode(MemorySegment.ofArray(frame), id, VerificationLevel.CHECKSUMS)
                instanceof LoadResult.Hit hit) {
            return new WorkloadItem(index, hit.entry(), frame);
        }
        throw new IllegalStateException("The frame of entry " + index + " does not decode");
    }
}
