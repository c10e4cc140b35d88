package dev.granary.coordinator.layer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** Runs of 1,000 kernels on a fake clock. */
class LookupTimeBudgetTest {
    private static final int KERNELS = 1000;
    private static final long MILLIS = 1_000_000;
    private static final long COMPILE = 100 * MILLIS;
    private static final long INITIAL = GranaryConfig.DEFAULT_BUCKET_WAIT.toNanos();

    private final CompileTimeEstimate compileTimes = new CompileTimeEstimate();
    private final LookupTimeBudget budget =
            new LookupTimeBudget(compileTimes, GranaryConfig.DEFAULT_BUCKET_WAIT);
    private long now;
    private long probeEnds = Long.MAX_VALUE;
    private long probeSavedNanos;
    private int hits;
    private int probes;

    /**
     * Looks up one kernel in a bucket that takes {@code latency} to answer, and compiles it after a
     * miss.
     */
    private void kernel(long compile, long latency, boolean isPresent) {
        if (now >= probeEnds) {
            probeEnds = Long.MAX_VALUE;
            budget.probeEnded(probeSavedNanos);
        }
        switch (budget.decide()) {
            case LookupTimeBudget.Decision.Load(long limit) -> {
                long waited = Math.min(latency, limit);
                now += waited;
                budget.charge(waited);
                if (isPresent && latency <= limit) {
                    hits++;
                    budget.credit(compile);
                    compileTimes.observe(compile);
                    return;
                }
            }
            case LookupTimeBudget.Decision.Probe _ -> {
                assertEquals(Long.MAX_VALUE, probeEnds, "one probe at a time");
                probes++;
                probeEnds = now + latency;
                probeSavedNanos = isPresent ? compile - latency : 0;
            }
            case LookupTimeBudget.Decision.Skip _ -> {}
        }
        now += compile;
        compileTimes.compiled(compile);
    }

    private void assertWithin5Percent(long withoutCache) {
        assertTrue(
                now <= withoutCache * 1.05,
                () -> "took " + now / MILLIS + " ms instead of " + withoutCache / MILLIS + " ms");
    }

    @ParameterizedTest
    @CsvSource({
        "20, false",
        "99, false",
        "101, false",
        "101, true",
        "150, true",
        "500, false",
        "500, true",
        "3000, false",
        "3000, true",
        "10000, false",
        "10000, true"
    })
    @DisplayName("R23 a bucket that is slower than compiling, silent or empty costs a run of 1,000"
            + " kernels at most 5 %")
    void slowBucket(long latencyMillis, boolean isPresent) {
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, latencyMillis * MILLIS, isPresent);
        }
        assertWithin5Percent(KERNELS * COMPILE);
        if (latencyMillis > 101) { // hits that are hardly slower than compiling use nothing up
            assertTrue(probes > 0);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {130, 800, 10_000})
    @DisplayName("R23 the loss is bounded if compile times differ by a factor of 1,000")
    void differentKernels(long latencyMillis) {
        RandomGenerator random = TestSeed.random("LookupTimeBudgetTest");
        long withoutCache = 0;
        for (int i = 0; i < KERNELS; i++) {
            long compile = (long) (10 * MILLIS * Math.pow(1000, Math.pow(random.nextDouble(), 4)));
            withoutCache += compile;
            kernel(compile, latencyMillis * MILLIS, false);
        }
        assertWithin5Percent(withoutCache);
    }

    @ParameterizedTest
    @ValueSource(longs = {150, 500, 10_000})
    @DisplayName("R23 a bucket that becomes fast is used again, and serves almost every kernel")
    void recovers(long latencyMillis) {
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, latencyMillis * MILLIS, true);
        }
        while (now < probeEnds && probeEnds != Long.MAX_VALUE) {
            // the last probe of the slow bucket is still in progress
            kernel(COMPILE, 20 * MILLIS, true);
        }
        hits = 0;
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, 20 * MILLIS, true);
        }
        assertTrue(hits >= KERNELS - 10, hits + " hits");
    }

    @Test
    @DisplayName("A bucket that has only the later kernels of a run is used for them")
    void laterKernels() {
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, 40 * MILLIS, false);
        }
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, 40 * MILLIS, true);
        }
        assertTrue(hits >= KERNELS - 5, hits + " hits");
    }

    @Test
    @DisplayName("An unknown compile time counts as long; a known one limits the wait of a lookup")
    void limits() {
        assertEquals(new LookupTimeBudget.Decision.Load(INITIAL), budget.decide());
        budget.charge(INITIAL - 1);
        assertEquals(new LookupTimeBudget.Decision.Load(1), budget.decide());
        compileTimes.observe(COMPILE);
        assertEquals(new LookupTimeBudget.Decision.Load(COMPILE), budget.decide());
        budget.charge(1);
        assertInstanceOf(LookupTimeBudget.Decision.Probe.class, budget.decide());
        assertInstanceOf(LookupTimeBudget.Decision.Skip.class, budget.decide());
        budget.probeEnded(0);
        assertInstanceOf(LookupTimeBudget.Decision.Probe.class, budget.decide());
        budget.probeEnded(1);
        assertEquals(new LookupTimeBudget.Decision.Load(COMPILE), budget.decide());
        budget.charge(INITIAL);
        compileTimes.compiled(LookupTimeBudget.SHARE * (2 * INITIAL + 1));
        assertInstanceOf(LookupTimeBudget.Decision.Load.class, budget.decide());
        compileTimes.compiled(LookupTimeBudget.SHARE * 100 * INITIAL);
        for (int i = 0; i < 200; i++) {
            compileTimes.observe(1);
        }
        assertEquals(
                new LookupTimeBudget.Decision.Load(INITIAL),
                budget.decide(),
                "old compile times allow no long wait");
    }

    @Test
    @DisplayName(
            "The initial budget is the configured bucket wait; with none, callers wait 4 % of the"
                    + " compile time")
    void initialBudget() {
        long minute = Duration.ofMinutes(1).toNanos();
        LookupTimeBudget large = new LookupTimeBudget(compileTimes, Duration.ofMinutes(1));
        large.charge(minute - COMPILE);
        assertEquals(new LookupTimeBudget.Decision.Load(COMPILE), large.decide());
        LookupTimeBudget none = new LookupTimeBudget(compileTimes, Duration.ZERO);
        assertInstanceOf(LookupTimeBudget.Decision.Probe.class, none.decide());
        compileTimes.compiled(LookupTimeBudget.SHARE * 3L);
        none.charge(2);
        assertInstanceOf(LookupTimeBudget.Decision.Load.class, none.decide());
        none.charge(1);
        assertInstanceOf(LookupTimeBudget.Decision.Skip.class, none.decide());
    }

    @Test
    @DisplayName("Waits of many threads at once do not exclude the bucket forever")
    void manyThreads() {
        compileTimes.compiled(COMPILE);
        budget.charge(64 * INITIAL);
        int profitable = 0;
        while (budget.decide() instanceof LookupTimeBudget.Decision.Probe) {
            budget.probeEnded(COMPILE / 2);
            profitable++;
        }
        assertTrue(profitable > 1 && profitable < 20, profitable + " probes");
    }

    @Test
    @DisplayName("An entry that states an absurd compile time counts as ten minutes")
    void absurdCompileTime() {
        Entry stored = TestEntries.entry(TestEntries.id("absurd"), KernelBinaries.of(new byte[1]));
        Entry absurd = Entry.of(
                stored.id(),
                stored.binaries(),
                Duration.ofNanos(Long.MAX_VALUE),
                stored.metadata().orElseThrow());
        CompileTimeEstimate compileTimes = new CompileTimeEstimate();
        compileTimes.observe(absurd);
        assertEquals(Duration.ofMinutes(10).toNanos(), compileTimes.expected());
        assertEquals(Duration.ofMinutes(10).toNanos(), CompileTimeEstimate.stated(absurd));
    }
}
