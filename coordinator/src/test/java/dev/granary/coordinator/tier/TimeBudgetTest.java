package dev.granary.coordinator.tier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;

/** Runs of 1,000 kernels on a fake clock. */
class TimeBudgetTest {
    private static final int KERNELS = 1000;
    private static final long MILLIS = 1_000_000;
    private static final long COMPILE = 100 * MILLIS;
    private static final long INITIAL = GranaryConfig.DEFAULT_BUCKET_WAIT.toNanos();

    private final CompileTimes compileTimes = new CompileTimes();
    private final TimeBudget budget =
            new TimeBudget(compileTimes, GranaryConfig.DEFAULT_BUCKET_WAIT);
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
            budget.endProbe(probeSavedNanos);
        }
        OptionalLong limit = budget.limit();
        if (limit.isPresent()) {
            long waited = Math.min(latency, limit.getAsLong());
            now += waited;
            budget.charge(waited);
            if (isPresent && latency <= limit.getAsLong()) {
                hits++;
                budget.credit(compile);
                compileTimes.observe(compile);
                return;
            }
        } else if (budget.beginProbe()) {
            assertEquals(Long.MAX_VALUE, probeEnds, "one probe at a time");
            probes++;
            probeEnds = now + latency;
            probeSavedNanos = isPresent ? compile - latency : 0;
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
    @DisplayName("a bucket that is slower than compiling, silent or empty costs a run of 1,000"
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
    @DisplayName("the loss is bounded if compile times differ by a factor of 1,000")
    void differentKernels(long latencyMillis) {
        RandomGenerator random = TestSeed.random("TimeBudgetTest");
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
    @DisplayName("a bucket that becomes fast is used again, and serves almost every kernel")
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
        assertEquals(OptionalLong.of(INITIAL), budget.limit());
        budget.charge(INITIAL - 1);
        assertEquals(OptionalLong.of(1), budget.limit());
        compileTimes.observe(COMPILE);
        assertEquals(OptionalLong.of(COMPILE), budget.limit());
        budget.charge(1);
        assertEquals(OptionalLong.empty(), budget.limit());
        assertTrue(budget.beginProbe());
        assertFalse(budget.beginProbe());
        budget.endProbe(0);
        assertTrue(budget.beginProbe());
        budget.endProbe(1);
        assertEquals(OptionalLong.of(COMPILE), budget.limit());
        budget.charge(INITIAL);
        compileTimes.compiled(TimeBudget.SHARE * (2 * INITIAL + 1));
        assertTrue(budget.limit().isPresent());
        compileTimes.compiled(TimeBudget.SHARE * 100 * INITIAL);
        for (int i = 0; i < 200; i++) {
            compileTimes.observe(1);
        }
        assertEquals(
                OptionalLong.of(INITIAL), budget.limit(), "old compile times allow no long wait");
    }

    @Test
    @DisplayName(
            "The initial budget is the configured bucket wait; with none, callers wait 4 % of the"
                    + " compile time")
    void initialBudget() {
        long minute = Duration.ofMinutes(1).toNanos();
        TimeBudget large = new TimeBudget(compileTimes, Duration.ofMinutes(1));
        large.charge(minute - COMPILE);
        assertEquals(OptionalLong.of(COMPILE), large.limit());
        TimeBudget none = new TimeBudget(compileTimes, Duration.ZERO);
        assertEquals(OptionalLong.empty(), none.limit());
        compileTimes.compiled(TimeBudget.SHARE * 3L);
        none.charge(2);
        assertTrue(none.limit().isPresent());
        none.charge(1);
        assertEquals(OptionalLong.empty(), none.limit());
    }

    @Test
    @DisplayName("Waits of many threads at once do not exclude the bucket forever")
    void manyThreads() {
        compileTimes.compiled(COMPILE);
        budget.charge(64 * INITIAL);
        int profitable = 0;
        while (budget.limit().isEmpty() && budget.beginProbe()) {
            budget.endProbe(COMPILE / 2);
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
        CompileTimes compileTimes = new CompileTimes();
        compileTimes.observe(absurd);
        assertEquals(Duration.ofMinutes(10).toNanos(), compileTimes.expected());
        assertEquals(Duration.ofMinutes(10).toNanos(), CompileTimes.stated(absurd));
        try (BoundedTier layer = TestTiers.layer(new FakeBucket(), budget).bounds()) {
            layer.used(absurd);
            budget.charge(INITIAL);
            assertEquals(OptionalLong.empty(), budget.limit(), "no credit is left for later");
            budget.charge(Duration.ofMinutes(20).toNanos());
            layer.used(absurd);
            assertEquals(OptionalLong.empty(), budget.limit(), "a debt of more stays");
        }
    }

    @Test
    @DisplayName("an own compile of an hour lets no lookup wait longer than ten minutes")
    void longCompile() {
        compileTimes.compiled(Duration.ofHours(1).toNanos());
        assertEquals(OptionalLong.of(Duration.ofMinutes(10).toNanos()), budget.limit());
    }
}
