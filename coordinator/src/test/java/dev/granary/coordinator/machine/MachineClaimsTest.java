package dev.granary.coordinator.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeClaims;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.machine.MachineClaims.Outcome;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.local.ClaimResult;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Waits for other processes, on a fake clock. */
class MachineClaimsTest {
    private static final Id ID = TestEntries.id("a");
    private static final Entry ENTRY = TestEntries.entry(ID, KernelBinaries.of(new byte[1]));
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final ClaimResult UNDER_WAY = new ClaimResult.Taken();

    private final FakeClaims claims = new FakeClaims();
    private final TestTicker time = new TestTicker();
    private final CompileTimes compileTimes = new CompileTimes();
    private final Counters counters = new Counters();
    private final MachineClaims machine =
            new MachineClaims(claims, LIMIT, compileTimes, time, counters, TestTiers.NO_LISTENERS);

    private LoadResult stored = LoadResult.ABSENT;
    private int lookups;

    private Outcome claim() {
        return machine.claim(ID, () -> {
            lookups++;
            return stored;
        });
    }

    private static Claim acquired(Outcome outcome) {
        assertEquals(Optional.empty(), outcome.entry());
        assertNotEquals(Claim.NONE, outcome.claim());
        return outcome.claim();
    }

    private Duration took(Runnable work) {
        long start = time.nanos();
        work.run();
        return Duration.ofNanos(time.nanos() - start);
    }

    private void assertAbout(Duration expected, Duration actual) {
        assertTrue(
                actual.compareTo(expected) >= 0 && actual.minus(expected).toMillis() <= 100,
                actual::toString);
    }

    private void assertCounted(long waited, long givenUp, long unavailable) {
        assertEquals(
                List.of(waited, givenUp, unavailable),
                List.of(
                        counters.sum(Counter.CLAIM_HITS),
                        counters.sum(Counter.CLAIM_WAITS_GIVEN_UP),
                        counters.sum(Counter.CLAIMS_UNAVAILABLE)));
    }

    @Test
    @DisplayName("a free claim is acquired without waiting, after one more lookup")
    void free() {
        Claim claim = acquired(claim());
        assertFalse(claims.mine.isClosed);
        claim.close();
        assertTrue(claims.mine.isClosed);
        assertEquals(1, lookups);
        assertEquals(Duration.ZERO, time.longestPause());
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("an entry that is stored between lookup and claim is used, and the claim is"
            + " released")
    void storedMeanwhile() {
        stored = new LoadResult.Hit(ENTRY);
        assertEquals(Outcome.of(ENTRY, Duration.ZERO), claim());
        assertTrue(claims.mine.isClosed);
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("a waiting lookup returns the entry soon after its holder stores it")
    void waits() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(7), () -> stored = new LoadResult.Hit(ENTRY));
        Outcome outcome = claim();
        assertEquals(Optional.of(ENTRY), outcome.entry());
        assertAbout(Duration.ofSeconds(7), outcome.waited());
        assertTrue(time.longestPause().compareTo(Duration.ofMillis(75)) <= 0);
        assertCounted(1, 0, 0);
    }

    @Test
    @DisplayName("the first lookups follow quickly, later ones seldom")
    void growingPauses() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofMillis(4), () -> stored = new LoadResult.Hit(ENTRY));
        assertTrue(took(this::claim).toMillis() < 10);
        stored = LoadResult.ABSENT;
        lookups = 0;
        time.after(Duration.ofSeconds(50), () -> stored = new LoadResult.Hit(ENTRY));
        claim();
        assertTrue(lookups < 1100, () -> lookups + " lookups");
    }

    @Test
    @DisplayName("if the holder dies, a waiting lookup soon acquires the claim")
    void holderDies() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(2), () -> claims.answer = claims.mine);
        assertAbout(Duration.ofSeconds(2), took(() -> acquired(claim())));
        assertFalse(claims.mine.isClosed);
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("a wait ends at its limit; the next lookups do not wait until this process has"
            + " compiled for long")
    void deadline() {
        claims.answer = UNDER_WAY;
        assertEquals(LIMIT, took(() -> assertEquals(Outcome.UNCLAIMED, claim())));
        assertEquals(Duration.ZERO, took(() -> assertEquals(Outcome.UNCLAIMED, claim())));
        assertCounted(0, 2, 0);
        compileTimes.compiled(LIMIT.multipliedBy(25 + 10).toNanos());
        assertEquals(
                LIMIT.multipliedBy(10).dividedBy(25),
                took(this::claim),
                "4 % of the compile time may be spent waiting");
    }

    @Test
    @DisplayName("a successful wait restores the whole budget")
    void restoresBudget() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(40), () -> claims.answer = claims.mine);
        claim();
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(5), () -> stored = new LoadResult.Hit(ENTRY));
        claim();
        stored = LoadResult.ABSENT;
        assertEquals(LIMIT, took(this::claim));
        assertCounted(1, 1, 0);
    }

    @Test
    @DisplayName("a claim that awaits its launch is released after the grace period, and not waited"
            + " for by its owner")
    void ownLaunch() {
        Claim claim = acquired(claim());
        claim.awaitLaunch();
        claims.answer = UNDER_WAY;
        assertEquals(Duration.ZERO, took(() -> assertEquals(Outcome.UNCLAIMED, claim())));
        assertCounted(0, 0, 0);
        assertFalse(claims.mine.isClosed);
        time.pass(MachineClaims.LAUNCH_GRACE);
        assertTrue(claims.mine.isClosed);
        assertEquals(LIMIT, took(this::claim), "of another process from now on");
    }

    @Test
    @DisplayName("a thread that looks up the next primitive before it launches releases its claims")
    void looksUpWithoutLaunching() throws Exception {
        Claim claim = acquired(claim());
        claim.awaitLaunch();
        Thread otherThread =
                new Thread(() -> machine.claim(TestEntries.id("b"), () -> LoadResult.ABSENT));
        otherThread.start();
        otherThread.join();
        assertFalse(claims.mine.isClosed, "this thread may still launch it");
        machine.claim(TestEntries.id("c"), () -> LoadResult.ABSENT);
        assertTrue(claims.mine.isClosed);
    }

    @Test
    @DisplayName("a claim is held from the launch until the entry is stored, whatever its thread"
            + " does")
    void launched() {
        Claim claim = acquired(claim());
        claim.awaitLaunch();
        claim.launched();
        machine.claim(TestEntries.id("c"), () -> LoadResult.ABSENT);
        time.pass(MachineClaims.LAUNCH_GRACE);
        assertFalse(claims.mine.isClosed);
        claim.close();
        assertTrue(claims.mine.isClosed);
    }

    @Test
    @DisplayName("if claims do not work, the lookup goes on at once, counted")
    void unavailable() {
        claims.answer = new ClaimResult.Unavailable("the disk is read-only");
        assertEquals(Outcome.UNCLAIMED, claim());
        assertEquals(Duration.ZERO, time.longestPause());
        assertCounted(0, 0, 1);
    }

    @Test
    @DisplayName("An interrupted thread does not wait, and stays interrupted")
    void interrupted() {
        claims.answer = UNDER_WAY;
        Thread.currentThread().interrupt();
        try {
            assertEquals(Duration.ZERO, took(() -> assertEquals(Outcome.UNCLAIMED, claim())));
        } finally {
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    @DisplayName("A tier that throws, against its contract, leaves no claim")
    void tierThrows() {
        assertThrows(
                IllegalStateException.class,
                () -> machine.claim(ID, () -> {
                    throw new IllegalStateException("this store has a bug");
                }));
        assertTrue(claims.mine.isClosed);
    }
}
