package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.testing.TestSeed;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs of a thousand kernels on a clock that is turned by hand. */
class LookupTimeBudgetTest {
    private static final int KERNELS = 1000;
    private static final long MILLIS = 1_000_000;
    private static final long COMPILE = 100 * MILLIS;
    private static final long CREDIT = GranaryConfig.DEFAULT_BUCKET_WAIT.toNanos();

    private final CompileTimeEstimate cost = new CompileTimeEstimate();
    private final LookupTimeBudget worth = new LookupTimeBudget(cost, GranaryConfig.DEFAULT_BUCKET_WAIT);
    private long now;
    private long probeEnds = Long.MAX_VALUE;
    private long probeGain;
    private int hits;
    private int probes;

    /** Looks one kernel up in a bucket that takes {@code latency} to answer, and compiles it if need be. */
    private void kernel(long compile, long latency, boolean isThere) {
        if (now >= probeEnds) {
            probeEnds = Long.MAX_VALUE;
            worth.probed(probeGain);
        }
        switch (worth.verdict()) {
            case LookupTimeBudget.Verdict.Ask(long limit) -> {
                long waited = Math.min(latency, limit);
                now += waited;
                worth.spent(waited);
                if (isThere && latency <= limit) {
                    hits++;
                    worth.saved(compile);
                    cost.seen(compile);
                    return;
                }
            }
            case LookupTimeBudget.Verdict.Probe _ -> {
                assertEquals(Long.MAX_VALUE, probeEnds, "one probe at a time");
                probes++;
                probeEnds = now + latency;
                probeGain = isThere ? compile - latency : 0;
            }
            case LookupTimeBudget.Verdict.Skip _ -> {}
        }
        now += compile;
        cost.paid(compile);
    }

    private void assertWithin5Percent(long withoutCache) {
        assertTrue(now <= withoutCache * 1.05, () -> "took " + now / MILLIS + " ms instead of " + withoutCache / MILLIS + " ms");
    }

    @ParameterizedTest
    @CsvSource({"20, false", "99, false", "101, false", "101, true", "150, true", "500, false", "500, true", "3000, false", "3000, true",
        "10000, false", "10000, true"})
    @DisplayName("R23 a bucket that is slower than compiling, dark or empty costs a run of 1,000 kernels at most 5 %")
    void slowBucket(long latencyMillis, boolean isThere) {
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, latencyMillis * MILLIS, isThere);
        }
        assertWithin5Percent(KERNELS * COMPILE);
        if (latencyMillis > 101) { // hits that are hardly slower than compiling use nothing up
            assertTrue(probes > 0);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {130, 800, 10_000})
    @DisplayName("R23 so it is where compile times differ by a factor of a thousand")
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
    @DisplayName("R23 as soon as the bucket is fast, it is asked again, and almost every kernel comes from there")
    void recovers(long latencyMillis) {
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, latencyMillis * MILLIS, true);
        }
        while (now < probeEnds && probeEnds != Long.MAX_VALUE) { // the last question to the slow bucket is still under way
            kernel(COMPILE, 20 * MILLIS, true);
        }
        hits = 0;
        for (int i = 0; i < KERNELS; i++) {
            kernel(COMPILE, 20 * MILLIS, true);
        }
        assertTrue(hits >= KERNELS - 10, hits + " hits");
    }

    @Test
    @DisplayName("A bucket that has only the later kernels of a run is found to have them")
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
    @DisplayName("While nobody knows what compiling costs it counts as expensive; then a look-up may wait as long as compiling takes")
    void limits() {
        assertEquals(new LookupTimeBudget.Verdict.Ask(CREDIT), worth.verdict());
        worth.spent(CREDIT - 1);
        assertEquals(new LookupTimeBudget.Verdict.Ask(1), worth.verdict());
        cost.seen(COMPILE);
        assertEquals(new LookupTimeBudget.Verdict.Ask(COMPILE), worth.verdict());
        worth.spent(1);
        assertInstanceOf(LookupTimeBudget.Verdict.Probe.class, worth.verdict());
        assertInstanceOf(LookupTimeBudget.Verdict.Skip.class, worth.verdict());
        worth.probed(0);
        assertInstanceOf(LookupTimeBudget.Verdict.Probe.class, worth.verdict());
        worth.probed(1);
        assertEquals(new LookupTimeBudget.Verdict.Ask(COMPILE), worth.verdict());
        worth.spent(CREDIT);
        cost.paid(LookupTimeBudget.SHARE * (2 * CREDIT + 1));
        assertInstanceOf(LookupTimeBudget.Verdict.Ask.class, worth.verdict());
        cost.paid(LookupTimeBudget.SHARE * 100 * CREDIT);
        for (int i = 0; i < 200; i++) {
            cost.seen(1);
        }
        assertEquals(new LookupTimeBudget.Verdict.Ask(CREDIT), worth.verdict(), "what was paid long ago allows no long wait");
    }

    @Test
    @DisplayName("The credit is the bucket wait of the configuration; without any, callers wait 4 % of the time spent compiling")
    void credit() {
        long minute = Duration.ofMinutes(1).toNanos();
        LookupTimeBudget patient = new LookupTimeBudget(cost, Duration.ofMinutes(1));
        patient.spent(minute - COMPILE);
        assertEquals(new LookupTimeBudget.Verdict.Ask(COMPILE), patient.verdict());
        LookupTimeBudget none = new LookupTimeBudget(cost, Duration.ZERO);
        assertInstanceOf(LookupTimeBudget.Verdict.Probe.class, none.verdict());
        cost.paid(LookupTimeBudget.SHARE * 3L);
        none.spent(2);
        assertInstanceOf(LookupTimeBudget.Verdict.Ask.class, none.verdict());
        none.spent(1);
        assertInstanceOf(LookupTimeBudget.Verdict.Skip.class, none.verdict());
    }

    @Test
    @DisplayName("What many threads have waited in vain at once does not shut the bucket out for ever")
    void manyThreads() {
        cost.paid(COMPILE);
        worth.spent(64 * CREDIT);
        int good = 0;
        while (worth.verdict() instanceof LookupTimeBudget.Verdict.Probe) {
            worth.probed(COMPILE / 2);
            good++;
        }
        assertTrue(good > 1 && good < 20, good + " probes");
    }
}
