package dev.granary.coordinator.claim;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.LogOnce;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.WaitEvent;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.local.ClaimResult;
import dev.granary.local.ClaimResult.Stage;
import dev.granary.local.LocalClaims;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/**
 * Coordinator of the claims of this machine: one process obtains an entry, while the others wait
 * for it. If claims do not work, or a wait takes too long, the lookup goes on without a claim: a
 * second compile is a cost, not an error. Thread-safe.
 *
 * <p>A lazy driver compiles in the first launch, which may never come, so the entry is stored later
 * or not at all. It is waited for only as long as {@link AwaitingLaunchClaims} holds the claim.
 */
public final class ClaimCoordinator {
    /**
     * The longest wait for the first launch. A program that launches at once does so within this
     * time ({@code docs/measured.md}).
     */
    public static final Duration LAUNCH_GRACE = Duration.ofSeconds(10);

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Function<Id, ClaimResult> claims;
    private final Ticker time;
    private final LongUnaryOperator jitter;
    private final LookupCounters counters;
    private final EventDispatcher events;
    private final WaitBudget waitBudget;
    private final WaitBudget launchWaitBudget;
    private final AwaitingLaunchClaims awaitingLaunch;

    /** Outcome of a claim. */
    public sealed interface Outcome {
        /** The lookup has the claim, and passes it on with the primitive. */
        record Claimed(CompileClaim claim) implements Outcome {}

        /** Another process has stored the entry in the local tier. */
        record Stored(Entry entry) implements Outcome {}

        /** The lookup goes on without a claim. */
        record Unclaimed() implements Outcome {}
    }

    /** State of one wait. */
    private static final class Wait {
        private final long start;
        private final EventSpan span;
        private long launchStart;
        private boolean sawLaunch;
        private long pause = MIN_PAUSE_NANOS;

        Wait(long start, EventSpan span) {
            this.start = start;
            this.span = span;
        }
    }

    /**
     * Creates a coordinator.
     *
     * @param limit the wait budget
     * @param jitter returns a random number from 0 to its argument
     * @param graceTimer runs a task after {@link #LAUNCH_GRACE}
     */
    ClaimCoordinator(
            Function<Id, ClaimResult> claims,
            Duration limit,
            Ticker time,
            LongUnaryOperator jitter,
            Executor graceTimer,
            LookupCounters counters,
            EventDispatcher events) {
        this.claims = claims;
        this.time = time;
        this.jitter = jitter;
        this.awaitingLaunch = new AwaitingLaunchClaims(graceTimer);
        this.counters = counters;
        this.events = events;
        this.waitBudget = new WaitBudget(limit.toNanos(), time.nanos());
        this.launchWaitBudget =
                new WaitBudget(Math.min(limit.toNanos(), LAUNCH_GRACE.toNanos()), time.nanos());
    }

    /**
     * Creates a coordinator over the claims of this machine.
     *
     * @param limit the wait budget
     */
    public static ClaimCoordinator over(
            LocalClaims claims, Duration limit, LookupCounters counters, EventDispatcher events) {
        return new ClaimCoordinator(
                claims::claim,
                limit,
                Ticker.SYSTEM,
                longest -> ThreadLocalRandom.current().nextLong(longest + 1),
                CompletableFuture.delayedExecutor(LAUNCH_GRACE.toNanos(), TimeUnit.NANOSECONDS),
                counters,
                events);
    }

    /**
     * Claims {@code id} for a lookup that missed in the local tier, or waits for the entry.
     *
     * @param lookup repeats the lookup in the local tier
     */
    public Outcome claim(Id id, Supplier<LoadResult> lookup) {
        if (awaitingLaunch.contains(id)) {
            return new Outcome.Unclaimed(); // this process itself would have to launch it
        }
        awaitingLaunch.closeOwnedByCurrentThread();
        Wait wait = new Wait(time.nanos(), events.begin(EventKind.WAIT));
        while (true) {
            switch (claims.apply(id)) {
                case ClaimResult.Mine localClaim -> {
                    return claimed(id, localClaim, lookup, wait);
                }
                case ClaimResult.Unavailable(String reason) -> {
                    counters.increment(LookupCounter.CLAIMS_UNAVAILABLE);
                    LogOnce.warn(
                            "claims",
                            "Claims do not work, so the processes of this machine do not wait for"
                                    + " each other: "
                                    + reason);
                    return new Outcome.Unclaimed();
                }
                case ClaimResult.Taken(Stage stage) -> {
                    long remaining = remaining(stage, wait);
                    if (remaining <= 0 || Thread.currentThread().isInterrupted()) {
                        counters.increment(LookupCounter.WAITS_GIVEN_UP);
                        chargeWait(wait);
                        ended(id, wait, WaitEvent.Outcome.GIVEN_UP);
                        return new Outcome.Unclaimed();
                    }
                    pause(wait, remaining);
                }
            }
            if (lookup.get() instanceof LoadResult.Hit(Entry entry)) {
                return stored(id, entry, wait);
            }
        }
    }

    /**
     * Handles an acquired claim. Its last holder may have stored the entry, ended, or had nothing
     * to store.
     */
    private Outcome claimed(
            Id id, ClaimResult.Mine localClaim, Supplier<LoadResult> lookup, Wait wait) {
        boolean isHeld = false;
        try {
            if (lookup.get() instanceof LoadResult.Hit(Entry entry)) {
                return stored(id, entry, wait);
            }
            chargeWait(wait);
            if (hasWaited(wait)) {
                ended(id, wait, WaitEvent.Outcome.CLAIMED);
            }
            Outcome claimed = new Outcome.Claimed(awaitingLaunch.claim(id, localClaim));
            isHeld = true;
            return claimed;
        } finally {
            if (!isHeld) {
                localClaim.close();
            }
        }
    }

    private Outcome stored(Id id, Entry entry, Wait wait) {
        if (hasWaited(wait)) {
            counters.increment(LookupCounter.WAITED);
            waitBudget.reset();
            if (wait.sawLaunch) {
                launchWaitBudget.reset();
            }
            ended(id, wait, WaitEvent.Outcome.STORED);
        }
        return new Outcome.Stored(entry);
    }

    private void ended(Id id, Wait wait, WaitEvent.Outcome outcome) {
        wait.span.end(_ -> new WaitEvent(
                EventDispatcher.digest(id), outcome, Duration.ofNanos(time.nanos() - wait.start)));
    }

    /**
     * Returns the remaining time of this wait. The limit for launches applies once a holder was
     * seen to await one, whoever has the claim later.
     */
    private long remaining(Stage stage, Wait wait) {
        long now = time.nanos();
        if (stage == Stage.AWAITING_LAUNCH && !wait.sawLaunch) {
            wait.sawLaunch = true;
            wait.launchStart = now;
        }
        long remaining = waitBudget.remaining(now) - (now - wait.start);
        return wait.sawLaunch
                ? Math.min(remaining, launchWaitBudget.remaining(now) - (now - wait.launchStart))
                : remaining;
    }

    private void pause(Wait wait, long remaining) {
        time.pauseQuietly(Duration.ofNanos(
                Math.min(remaining, wait.pause / 2 + jitter.applyAsLong(wait.pause))));
        wait.pause = Math.min(MAX_PAUSE_NANOS, wait.pause + wait.pause / 2);
    }

    private void chargeWait(Wait wait) {
        if (hasWaited(wait)) {
            long now = time.nanos();
            waitBudget.charge(now - wait.start, now);
            if (wait.sawLaunch) {
                launchWaitBudget.charge(now - wait.launchStart, now);
            }
        }
    }

    private static boolean hasWaited(Wait wait) {
        return wait.pause > MIN_PAUSE_NANOS;
    }
}
