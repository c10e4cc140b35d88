package dev.granary.coordinator.machine;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.Ticker;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.TimeBudget;
import dev.granary.local.ClaimResult;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The claims of this machine: one process obtains an entry, while the others wait for it. If claims
 * do not work, or a wait takes too long, the lookup goes on without a claim: a second compile is a
 * cost, not an error. Thread-safe.
 *
 * <p>A lazy driver compiles in the first launch, which may never come, so the entry is stored later
 * or not at all. It is waited for only as long as the claim is held, and the claims of a thread end
 * if it looks up another primitive before it launches: two threads never wait for each other's
 * launches.
 */
public final class MachineClaims {
    /**
     * The longest time that a claim is held for the first launch. A program that launches at once
     * does so within this time ({@code docs/measured.md}).
     */
    static final Duration LAUNCH_GRACE = Duration.ofSeconds(10);

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Function<Id, ClaimResult> claims;
    private final Ticker time;
    private final Counters counters;
    private final EventDispatcher events;
    private final TimeBudget waitBudget;
    // those whose primitives await their first launch, which may never come
    private final Map<Id, LaunchClaim> awaitingLaunch = new ConcurrentHashMap<>();

    private final class Wait {
        private final long start = time.nanos();
        private final Span span = events.begin(EventKind.WAIT);
        private long pause = MIN_PAUSE_NANOS;
    }

    public MachineClaims(
            Function<Id, ClaimResult> claims,
            Duration limit,
            CompileTimes compileTimes,
            Ticker time,
            Counters counters,
            EventDispatcher events) {
        this.claims = claims;
        this.time = time;
        this.counters = counters;
        this.events = events;
        this.waitBudget = new TimeBudget(compileTimes, limit);
    }

    /**
     * Outcome of a claim: the entry that another process has stored in the local tier, or the claim
     * of the lookup, which it passes on with the primitive, or neither.
     *
     * @param waited the time of the wait for the entry; zero if there is none, or it was there
     */
    public record Outcome(Optional<Entry> entry, Duration waited, Claim claim) {
        /** The lookup goes on without a claim. */
        public static final Outcome UNCLAIMED =
                new Outcome(Optional.empty(), Duration.ZERO, Claim.NONE);

        public static Outcome of(Entry entry, Duration waited) {
            return new Outcome(Optional.of(entry), waited, Claim.NONE);
        }
    }

    /**
     * The claim of a lookup on its id, or {@link #NONE}. It is passed on to write-behind, which
     * closes it when the entry is stored or will not be. Thread-safe; a claim may be closed more
     * than once.
     */
    public interface Claim extends AutoCloseable {
        /** No claim, if none is available or needed. */
        Claim NONE = new Claim() {};

        /** Records that the binaries will be complete after the first launch. */
        default void awaitLaunch() {}

        /** Records the first launch: the binaries are about to be stored. */
        default void launched() {}

        @Override
        default void close() {}
    }

    /**
     * Claims {@code id} for a lookup that missed in the local tier, or waits for the entry.
     *
     * @param poll repeats the load from the local tier
     */
    public Outcome claim(Id id, Supplier<LoadResult> poll) {
        if (awaitingLaunch.containsKey(id)) {
            return Outcome.UNCLAIMED; // this process itself would have to launch it
        }
        awaitingLaunch.values().forEach(LaunchClaim::closeIfOwned);
        Wait wait = new Wait();
        while (true) {
            switch (claims.apply(id)) {
                case ClaimResult.Mine localClaim -> {
                    return claimed(id, localClaim, poll, wait);
                }
                case ClaimResult.Unavailable(String reason) -> {
                    counters.increment(Counter.CLAIMS_UNAVAILABLE);
                    Warnings.warn(
                            "claims",
                            "Claims do not work, so the processes of this machine do not wait for"
                                    + " each other: "
                                    + reason);
                    return Outcome.UNCLAIMED;
                }
                case ClaimResult.Taken _ -> {
                    long remaining = waitBudget.left() - (time.nanos() - wait.start);
                    if (remaining <= 0 || Thread.currentThread().isInterrupted()) {
                        counters.increment(Counter.CLAIM_WAITS_GIVEN_UP);
                        chargeWait(wait);
                        ended(id, wait, GranaryEvent.Wait.Outcome.GIVEN_UP);
                        return Outcome.UNCLAIMED;
                    }
                    pause(wait, remaining);
                }
            }
            if (poll.get() instanceof LoadResult.Hit(Entry entry)) {
                return stored(id, entry, wait);
            }
        }
    }

    /**
     * Handles an acquired claim. Its last holder may have stored the entry, ended, or had nothing
     * to store.
     */
    private Outcome claimed(
            Id id, ClaimResult.Mine localClaim, Supplier<LoadResult> poll, Wait wait) {
        LoadResult stored;
        try {
            stored = poll.get();
        } catch (Throwable e) {
            localClaim.close();
            throw e;
        }
        if (stored instanceof LoadResult.Hit(Entry entry)) {
            localClaim.close();
            return stored(id, entry, wait);
        }
        chargeWait(wait);
        if (hasWaited(wait)) {
            ended(id, wait, GranaryEvent.Wait.Outcome.CLAIMED);
        }
        return new Outcome(Optional.empty(), Duration.ZERO, new LaunchClaim(id, localClaim));
    }

    private Outcome stored(Id id, Entry entry, Wait wait) {
        if (hasWaited(wait)) {
            counters.increment(Counter.CLAIM_HITS);
            waitBudget.clear();
            ended(id, wait, GranaryEvent.Wait.Outcome.STORED);
            return Outcome.of(entry, Duration.ofNanos(time.nanos() - wait.start));
        }
        return Outcome.of(entry, Duration.ZERO);
    }

    private void ended(Id id, Wait wait, GranaryEvent.Wait.Outcome outcome) {
        wait.span.end(_ -> new GranaryEvent.Wait(
                EventDispatcher.digest(id), outcome, Duration.ofNanos(time.nanos() - wait.start)));
    }

    private void pause(Wait wait, long remaining) {
        long jitter = ThreadLocalRandom.current().nextLong(wait.pause + 1);
        time.pauseQuietly(Duration.ofNanos(Math.min(remaining, wait.pause / 2 + jitter)));
        wait.pause = Math.min(MAX_PAUSE_NANOS, wait.pause + wait.pause / 2);
    }

    private void chargeWait(Wait wait) {
        if (hasWaited(wait)) {
            waitBudget.charge(time.nanos() - wait.start);
        }
    }

    private static boolean hasWaited(Wait wait) {
        return wait.pause > MIN_PAUSE_NANOS;
    }

    /** A claim that may be held until the first launch. */
    private final class LaunchClaim implements Claim {
        private final Id id;
        private final ClaimResult.Mine localClaim;
        private final Thread owner = Thread.currentThread();

        LaunchClaim(Id id, ClaimResult.Mine localClaim) {
            this.id = id;
            this.localClaim = localClaim;
        }

        @Override
        public void awaitLaunch() {
            awaitingLaunch.put(id, this);
            time.after(LAUNCH_GRACE, this::closeUnlessLaunched);
        }

        @Override
        public void launched() {
            awaitingLaunch.remove(id, this);
        }

        void closeIfOwned() {
            if (owner == Thread.currentThread()) {
                closeUnlessLaunched();
            }
        }

        private void closeUnlessLaunched() {
            if (awaitingLaunch.remove(id, this)) {
                localClaim.close();
            }
        }

        @Override
        public void close() {
            awaitingLaunch.remove(id, this);
            localClaim.close();
        }
    }
}
