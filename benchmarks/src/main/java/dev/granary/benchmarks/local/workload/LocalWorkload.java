package dev.granary.benchmarks.local.workload;

import dev.granary.benchmarks.local.store.WorkloadItem;
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
 * Numbered entries of the sizes of compiled kernels: log-normal, median 32 KiB, one in a hundred
 * above 1 MiB, random content. Equal seeds and numbers give equal entries in all processes. Entries
 * are created on demand, since all of them may not fit in memory.
 */
public final class LocalWorkload {
    private static final Target TARGET = new Target(Backend.OPENCL, "bench", "Bench Device", "1");
    private static final EntryMetadata METADATA =
            new EntryMetadata("bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
    private static final double MEDIAN_BYTES = 32 << 10;
    private static final double SIGMA = 1.49;
    private static final int LARGEST_BYTES = 8 << 20;
    private static final int TINY_BYTES = 64; // about 300 with key, metadata and section table

    private final long seed;
    private final int[] sizes;

    private LocalWorkload(long seed, int[] sizes) {
        this.seed = seed;
        this.sizes = sizes;
    }

    /** Returns {@code count} entries of the workload. */
    public static LocalWorkload workload(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        return new LocalWorkload(
                seed,
                IntStream.range(0, count)
                        .map(_ -> (int) Math.min(
                                LARGEST_BYTES,
                                MEDIAN_BYTES * Math.exp(SIGMA * random.nextGaussian())))
                        .toArray());
    }

    /** Returns {@code count} entries of about 300 bytes. */
    public static LocalWorkload tiny(long seed, int count) {
        return new LocalWorkload(
                seed, IntStream.range(0, count).map(_ -> TINY_BYTES).toArray());
    }

    /** Returns the number of entries. */
    public int count() {
        return sizes.length;
    }

    /** Returns the bytes of all binaries. */
    public long bytes() {
        return IntStream.of(sizes).asLongStream().sum();
    }

    /** Returns the length of each binary. */
    public int[] sizes() {
        return sizes.clone();
    }

    /**
     * Returns the id of entry {@code index}. Its hash is already computed, as at a second lookup.
     */
    public static Id id(int index) {
        Id id = Id.builder(TARGET).field("n", index).build();
        id.hash();
        return id;
    }

    /** Returns the ids of all entries, in order. */
    public List<Id> ids() {
        return IntStream.range(0, sizes.length).mapToObj(LocalWorkload::id).toList();
    }

    /** Returns the ids of the entries of about 32 KiB: 24 to 40. */
    public List<Id> typicalIds() {
        return IntStream.range(0, sizes.length)
                .filter(i -> sizes[i] >> 10 >= 24 && sizes[i] >> 10 < 40)
                .mapToObj(LocalWorkload::id)
                .toList();
    }

    /** Returns the entries from {@code from} to {@code to}, exclusive. */
    public List<WorkloadItem> items(int from, int to) {
        return IntStream.range(from, to).mapToObj(this::item).toList();
    }

    /**
     * Returns entry {@code index}. Entry and frame share their memory, and the SHA-256 of the
     * content is computed, as after a compile or a download.
     */
    public WorkloadItem item(int index) {
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
