package dev.granary.it.bench.local;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Entries of the sizes that compiled kernels have: log-normal, median 32 KiB, one in a hundred above 1 MiB. The same in every process. */
final class Material {
    private static final Target TARGET = new Target(Backend.OPENCL, "bench", "Bench Device", "1");
    private static final double MEDIAN_BYTES = 32 << 10;
    private static final double SIGMA = 1.49;
    private static final int LARGEST_BYTES = 8 << 20;

    private Material() {}

    static List<Entry> entries(int count) {
        SplittableRandom random = new SplittableRandom(1);
        List<Entry> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            byte[] binary = new byte[(int) Math.min(LARGEST_BYTES, MEDIAN_BYTES * Math.exp(SIGMA * random.nextGaussian()))];
            random.nextBytes(binary);
            EntryMetadata metadata = new EntryMetadata("bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
            Id id = Id.builder(TARGET).field("n", i).build();
            entries.add(Entry.of(id, KernelBinaries.of(binary), Duration.ofMillis(100), metadata));
        }
        return entries;
    }
}
