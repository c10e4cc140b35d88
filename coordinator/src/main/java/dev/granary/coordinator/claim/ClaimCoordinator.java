package dev.granary.coordinator.claim;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.LogOnce;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.local.claim.ClaimResult;
import dev.granary.local.claim.ClaimResult.Stage;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/**
 * Lets one process of this machine come by an entry while the others wait for it: takes the claim on an id, or waits for the entry of whoever
 * has it. Where that does not work or takes too long, the look-up goes on without: two compiles are a cost, not an error. Thread-safe.
 *
 * <p>What a lazy driver compiles is stored after its first launch, which may never come: it is waited for as long as {@link AwaitingLaunchClaims} are
 * held, and no longer.
 */
public final class ClaimCoordinator {
    /**
     * How long a launch is waited for: the compiler of a lazy driver runs in the first launch, and a program that launches what it has just
     * got does so within this time ({@code docs/measured.md}).
     */
    public static final Duration LAUNCH_GRACE = Duration.ofSeconds(10);

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Function<Id, ClaimResult> claims;
    private final Ticker time;
    private final LongUnaryOperator jitter;
    private final LookupCounters counters;
    private final WaitBudget patience;
    private final WaitBudget launchPatience;
    private final AwaitingLaunchClaims unlaunched;

    /** What came of it. */
    public sealed interface Outcome {
        /** The claim is this look-up's, which goes on and passes it on. */
        record Claimed(CompileClaim claim) implements Outcome {}

        /** The entry is in the local tier now. */
        record Stored(Entry entry) implements Outcome {}

        /** The look-up goes on without a claim. */
        record Unclaimed() implements Outcome {}
    }

    /** A wait under way. */
    private static final class Wait {
        private final long start;
        private long launchStart;
        private boolean sawLaunch;
        private long pause = FIRST_PAUSE_NANOS;

        Wait(long start) {
            this.start = start;
        }
    }

    /**
     * Waits at most {@code limit} for others.
     *
     * @param jitter a random number from 0 to its argument
     * @param afterGrace runs what it is given once {@link #LAUNCH_GRACE} has passed
     */
    public ClaimCoordinator(Function<Id, ClaimResult> claims, Duration limit, Ticker time, LongUnaryOperator jitter, Executor afterGrace,
            LookupCounters counters) {
        this.claims = claims;
        this.time = time;
        this.jitter = jitter;
        this.unlaunched = new AwaitingLaunchClaims(afterGrace);
        this.counters = counters;
        this.patience = new WaitBudget(limit.toNanos(), time.nanos());
        this.launchPatience = new WaitBudget(Math.min(limit.toNanos(), LAUNCH_GRACE.toNanos()), time.nanos());
    }

    /**
     * Claims {@code id}, for a look-up that did not find it in the local tier.
     *
     * @param look looks into the local tier again
     */
    public Outcome claim(Id id, Supplier<LoadResult> look) {
        if (unlaunched.has(id)) {
            return new Outcome.Unclaimed(); // this very process would have to launch it
        }
        unlaunched.closeThoseOfThisThread();
        Wait wait = new Wait(time.nanos());
        while (true) {
            switch (claims.apply(id)) {
                case ClaimResult.Mine mine -> {
                    return claimed(id, mine, look, wait);
                }
                case ClaimResult.Unavailable(String reason) -> {
                    counters.claimsUnavailable.increment();
                    LogOnce.warn("claims", "The processes of this machine cannot wait for each other: " + reason);
                    return new Outcome.Unclaimed();
                }
                case ClaimResult.Taken(Stage stage) -> {
                    long left = left(stage, wait);
                    if (left <= 0 || Thread.currentThread().isInterrupted()) {
                        counters.waitsGivenUp.increment();
                        inVain(wait);
                        return new Outcome.Unclaimed();
                    }
                    pause(wait, left);
                }
            }
            if (look.get() instanceof LoadResult.Hit(Entry entry)) {
                return stored(entry, wait);
            }
        }
    }

    /** The claim is ours, perhaps because its holder has just stored the entry, or has died, or has found nothing to store. */
    private Outcome claimed(Id id, ClaimResult.Mine mine, Supplier<LoadResult> look, Wait wait) {
        boolean isHeld = false;
        try {
            if (look.get() instanceof LoadResult.Hit(Entry entry)) {
                return stored(entry, wait);
            }
            inVain(wait);
            Outcome claimed = new Outcome.Claimed(unlaunched.claim(id, mine));
            isHeld = true;
            return claimed;
        } finally {
            if (!isHeld) {
                mine.close();
            }
        }
    }

    private Outcome stored(Entry entry, Wait wait) {
        if (hasWaited(wait)) {
            counters.waited.increment();
            patience.rewarded();
            if (wait.sawLaunch) {
                launchPatience.rewarded();
            }
        }
        return new Outcome.Stored(entry);
    }

    /** How long this wait may go on. One that has seen its holder await a launch ends with that, whoever has the claim then. */
    private long left(Stage stage, Wait wait) {
        long now = time.nanos();
        if (stage == Stage.AWAITING_LAUNCH && !wait.sawLaunch) {
            wait.sawLaunch = true;
            wait.launchStart = now;
        }
        long left = patience.left(now) - (now - wait.start);
        return wait.sawLaunch ? Math.min(left, launchPatience.left(now) - (now - wait.launchStart)) : left;
    }

    private void pause(Wait wait, long left) {
        time.pauseQuietly(Duration.ofNanos(Math.min(left, wait.pause / 2 + jitter.applyAsLong(wait.pause))));
        wait.pause = Math.min(LONGEST_PAUSE_NANOS, wait.pause + wait.pause / 2);
    }

    private void inVain(Wait wait) {
        if (hasWaited(wait)) {
            long now = time.nanos();
            patience.inVain(now - wait.start, now);
            if (wait.sawLaunch) {
                launchPatience.inVain(now - wait.launchStart, now);
            }
        }
    }

    private static boolean hasWaited(Wait wait) {
        return wait.pause > FIRST_PAUSE_NANOS;
    }
}
