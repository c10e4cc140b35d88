package dev.granary.coordinator.claim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeClaims;
import dev.granary.coordinator.FakeTime;
import dev.granary.coordinator.claim.ClaimCoordinator.Outcome;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.local.claim.ClaimResult;
import dev.granary.local.claim.ClaimResult.Stage;
import dev.granary.testing.TestSeed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Waiting for others, in made-up time. */
class ClaimCoordinatorTest {
    private static final Id ID = TestEntries.id("a");
    private static final Entry ENTRY = TestEntries.entry(ID, KernelBinaries.of(new byte[1]));
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final ClaimResult UNDER_WAY = new ClaimResult.Taken(Stage.UNDER_WAY);
    private static final ClaimResult AWAITING_LAUNCH = new ClaimResult.Taken(Stage.AWAITING_LAUNCH);

    private final FakeClaims claims = new FakeClaims();
    private final FakeTime time = new FakeTime();
    private final SplittableRandom random = TestSeed.random("ClaimCoordinatorTest");
    private final List<Runnable> afterGrace = new ArrayList<>();
    private final LookupCounters counters = new LookupCounters();
    private final ClaimCoordinator wait =
            new ClaimCoordinator(claims, LIMIT, time, longest -> random.nextLong(longest + 1), afterGrace::add, counters);

    private LoadResult there = LoadResult.ABSENT;
    private int looks;

    private Outcome claim() {
        return wait.claim(ID, () -> {
            looks++;
            return there;
        });
    }

    private Duration took(Runnable work) {
        long start = time.nanos();
        work.run();
        return Duration.ofNanos(time.nanos() - start);
    }

    private void assertAbout(Duration expected, Duration actual) {
        assertTrue(actual.compareTo(expected) >= 0 && actual.minus(expected).toMillis() <= 100, actual::toString);
    }

    private void assertCounted(long waited, long givenUp, long unavailable) {
        assertEquals(List.of(waited, givenUp, unavailable),
                List.of(counters.waited.sum(), counters.waitsGivenUp.sum(), counters.claimsUnavailable.sum()));
    }

    @Test
    @DisplayName("R9 a free claim is taken without waiting, after one more look")
    void free() {
        CompileClaim claim = assertInstanceOf(Outcome.Claimed.class, claim()).claim();
        assertFalse(claims.mine.isClosed);
        claim.close();
        assertTrue(claims.mine.isClosed);
        assertEquals(1, looks);
        assertEquals(0, time.longestPause);
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("R9 what another stored between the look and the claim is taken, and the claim let go")
    void storedMeanwhile() {
        there = new LoadResult.Hit(ENTRY);
        assertEquals(new Outcome.Stored(ENTRY), claim());
        assertTrue(claims.mine.isClosed);
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("R9 a waiter gets the entry of the holder soon after it is stored")
    void waits() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(7), () -> there = new LoadResult.Hit(ENTRY));
        assertAbout(Duration.ofSeconds(7), took(() -> assertEquals(new Outcome.Stored(ENTRY), claim())));
        assertTrue(time.longestPause <= Duration.ofMillis(75).toNanos());
        assertCounted(1, 0, 0);
    }

    @Test
    @DisplayName("R9 the first looks come quickly, later ones seldom")
    void growingPauses() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofMillis(4), () -> there = new LoadResult.Hit(ENTRY));
        assertTrue(took(this::claim).toMillis() < 10);
        there = LoadResult.ABSENT;
        looks = 0;
        time.after(Duration.ofSeconds(50), () -> there = new LoadResult.Hit(ENTRY));
        claim();
        assertTrue(looks < 1100, () -> looks + " looks");
    }

    @Test
    @DisplayName("D18 R9 where the holder dies, a waiter has the claim soon")
    void holderDies() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(2), () -> claims.answer = claims.mine);
        assertAbout(Duration.ofSeconds(2), took(() -> assertInstanceOf(Outcome.Claimed.class, claim())));
        assertFalse(claims.mine.isClosed);
        assertCounted(0, 0, 0);
    }

    @Test
    @DisplayName("R9 a waiter's deadline makes it go on; the next look-ups do not wait in vain again until time has passed")
    void deadline() {
        claims.answer = UNDER_WAY;
        assertEquals(LIMIT, took(() -> assertInstanceOf(Outcome.Unclaimed.class, claim())));
        assertEquals(Duration.ZERO, took(() -> assertInstanceOf(Outcome.Unclaimed.class, claim())));
        assertCounted(0, 2, 0);
        time.pass(LIMIT.multipliedBy(50).toNanos());
        assertEquals(LIMIT.dividedBy(2).toSeconds(), took(this::claim).toSeconds(), "a hundredth of the time is forgiven");
    }

    @Test
    @DisplayName("R9 a wait that brings the entry restores all patience")
    void rewarded() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(40), () -> claims.answer = claims.mine);
        claim();
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(5), () -> there = new LoadResult.Hit(ENTRY));
        claim();
        there = LoadResult.ABSENT;
        assertEquals(LIMIT, took(this::claim));
        assertCounted(1, 1, 0);
    }

    @Test
    @DisplayName("R9 a launch of another is waited for briefly, in all and not each time")
    void launch() {
        claims.answer = AWAITING_LAUNCH;
        time.after(Duration.ofSeconds(3), () -> there = new LoadResult.Hit(ENTRY));
        assertAbout(Duration.ofSeconds(3), took(() -> assertEquals(new Outcome.Stored(ENTRY), claim())));
        there = LoadResult.ABSENT;
        assertEquals(ClaimCoordinator.LAUNCH_GRACE, took(this::claim));
        assertEquals(Duration.ZERO, took(this::claim));
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(20), () -> there = new LoadResult.Hit(ENTRY));
        assertAbout(Duration.ofSeconds(20), took(this::claim)); // a compile is waited for as before
    }

    @Test
    @DisplayName("R9 after a launch that did not come, nobody waits for the next one's compile")
    void launchThenCompile() {
        claims.answer = UNDER_WAY;
        time.after(Duration.ofSeconds(20), () -> claims.answer = AWAITING_LAUNCH);
        time.after(Duration.ofSeconds(25), () -> claims.answer = UNDER_WAY); // of another waiter
        assertAbout(Duration.ofSeconds(20).plus(ClaimCoordinator.LAUNCH_GRACE), took(() -> assertInstanceOf(Outcome.Unclaimed.class, claim())));
        assertCounted(0, 1, 0);
    }

    @Test
    @DisplayName("R9 who awaits a launch says so, lets go after the grace, and does not wait for itself")
    void ownLaunch() {
        CompileClaim claim = assertInstanceOf(Outcome.Claimed.class, claim()).claim();
        claim.awaitLaunch();
        assertTrue(claims.mine.awaitsLaunch);
        claims.answer = AWAITING_LAUNCH;
        assertEquals(Duration.ZERO, took(() -> assertInstanceOf(Outcome.Unclaimed.class, claim())));
        assertCounted(0, 0, 0);
        assertFalse(claims.mine.isClosed);
        afterGrace.forEach(Runnable::run);
        assertTrue(claims.mine.isClosed);
        assertEquals(ClaimCoordinator.LAUNCH_GRACE, took(this::claim), "another's from now on");
    }

    @Test
    @DisplayName("R9 a thread that looks for the next primitive before it launches lets go, so that no two wait for each other")
    void looksOnWithoutLaunching() throws Exception {
        CompileClaim claim = assertInstanceOf(Outcome.Claimed.class, claim()).claim();
        claim.awaitLaunch();
        Thread another = new Thread(() -> wait.claim(TestEntries.id("b"), () -> LoadResult.ABSENT));
        another.start();
        another.join();
        assertFalse(claims.mine.isClosed, "this thread may still launch it");
        wait.claim(TestEntries.id("c"), () -> LoadResult.ABSENT);
        assertTrue(claims.mine.isClosed);
    }

    @Test
    @DisplayName("R9 what was launched is held until it is stored, whatever its thread does and however long that takes")
    void launched() {
        CompileClaim claim = assertInstanceOf(Outcome.Claimed.class, claim()).claim();
        claim.awaitLaunch();
        claim.launched();
        wait.claim(TestEntries.id("c"), () -> LoadResult.ABSENT);
        afterGrace.forEach(Runnable::run);
        assertFalse(claims.mine.isClosed);
        claim.close();
        assertTrue(claims.mine.isClosed);
    }

    @Test
    @DisplayName("D15 where claims do not work, the look-up goes on at once, counted")
    void unavailable() {
        claims.answer = new ClaimResult.Unavailable("the disk is read-only");
        assertInstanceOf(Outcome.Unclaimed.class, claim());
        assertEquals(0, time.longestPause);
        assertCounted(0, 0, 1);
    }

    @Test
    @DisplayName("An interrupted thread does not wait, and stays interrupted")
    void interrupted() {
        claims.answer = UNDER_WAY;
        Thread.currentThread().interrupt();
        try {
            assertEquals(Duration.ZERO, took(() -> assertInstanceOf(Outcome.Unclaimed.class, claim())));
        } finally {
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    @DisplayName("A tier that throws, against its contract, leaves no claim behind")
    void tierThrows() {
        assertThrows(IllegalStateException.class, () -> wait.claim(ID, () -> {
            throw new IllegalStateException("this store has a bug");
        }));
        assertTrue(claims.mine.isClosed);
    }
}
