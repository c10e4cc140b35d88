package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.memory.PrimitiveCachePolicy;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Measure of the miss rates of each policy, on one trace by Zipf's law. */
final class RateMeasure {
    private static final int KEYS = 8192;
    private static final double EXPONENT = 0.9;
    private static final int[] PARTS = {16, 8, 4, 2};
    private static final double PERCENT = 100;

    private final MemorySettings settings;

    RateMeasure(MemorySettings settings) {
        this.settings = settings;
    }

    ReportSection section() {
        int[] trace = trace();
        ReportSection section = new ReportSection(
                "rate",
                String.format(
                        "misses of %,d lookups by Zipf's law (%s, %,d keys), %%",
                        trace.length, EXPONENT, KEYS),
                new ReportSection.Column("lru", "lru", 1),
                new ReportSection.Column("tinyLfu", "w-tinylfu", 1),
                new ReportSection.Column("saved", "fewer", 1));
        double worst = 0;
        for (int part : PARTS) {
            double lru = misses(trace, KEYS / part, PrimitiveCachePolicy.LRU);
            double tinyLfu = misses(trace, KEYS / part, PrimitiveCachePolicy.W_TINY_LFU);
            section.row("capacity 1/" + part, lru, tinyLfu, PERCENT * (lru - tinyLfu) / lru);
            worst = Math.max(worst, tinyLfu / lru);
        }
        section.goal(new Goal("misses of w-tinylfu / lru, worst", Goal.Bound.AT_MOST, 1, worst));
        section.note("The first half of the trace only fills the cache.");
        return section;
    }

    private int[] trace() {
        double[] cumulative = new double[KEYS];
        double sum = 0;
        for (int i = 0; i < KEYS; i++) {
            sum += Math.pow(i + 1, -EXPONENT);
            cumulative[i] = sum;
        }
        double all = sum;
        SplittableRandom random = new SplittableRandom(settings.seed());
        int[] trace = new int[settings.traceLength()];
        Arrays.setAll(trace, _ -> {
            int found = Arrays.binarySearch(cumulative, random.nextDouble() * all);
            return Math.min(KEYS - 1, found < 0 ? -found - 1 : found);
        });
        return trace;
    }

    private static double misses(int[] trace, int capacity, PrimitiveCachePolicy policy) {
        PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(capacity, policy);
        long before = 0;
        for (int i = 0; i < trace.length; i++) {
            before = i == trace.length / 2 ? cache.misses() : before;
            cache.get(trace[i], key -> key);
        }
        return PERCENT * (cache.misses() - before) / (trace.length - trace.length / 2);
    }
}
