package dev.granary.coordinator.lookup;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.cache.support.ClaimStore.Claim.State;
import dev.granary.cache.support.ClaimStore.Result;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.tier.Tiers.Layer;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * The claims of this machine in the layer where it publishes: one machine compiles an absent
 * kernel, while the others wait for its entry. If claims do not work, or a wait takes too long, the
 * lookup compiles: a second compile is a cost, not an error. No clock is compared with that of
 * another machine. Thread-safe.
 *
 * <p>A wait lasts twice the time that the compile is expected to take, by the holder and here,
 * whichever is shorter: with the expected time alone, all that began together would give up when
 * the entry appears. Then one machine takes the claim over, and the others wait once more. If the
 * time is unknown, the first wait lasts 10 s, and the second is that of a compile of 10 s. Machines
 * that publish in packs wait three minutes more, and other machines do not wait for them.
 */
public final class FleetClaims {
    /** The longest wait if neither machine knows how long a compile takes. */
    static final Duration UNKNOWN_WAIT = Duration.ofSeconds(10);

    /** The time between the end of a compile and the entry in the layer. */
    static final Duration PUBLICATION = Duration.ofSeconds(1);

    /** The same for entries in packs, which are written every two minutes. */
    private static final Duration PACKS = Duration.ofMinutes(3);

    /** A kernel that compiles in fewer round trips is not claimed. */
    private static final int LEAST_ROUND_TRIPS = 4;

    /** The longest credible round trip: the first of a process also loads classes. */
    private static final long MAX_ROUND_TRIP_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int TURNS = 2;
    private static final int POLLS_PER_CLAIM = 4;

    private final Layer layer;
    private final ClaimStore claims;
    private final boolean isInPacks;
    private final CompileTimes compileTimes;
    private final Duration limit;
    private final Ticker time;
    private final Counters counters;
    private final EventDispatcher events;
    private volatile long roundTripNanos = MAX_ROUND_TRIP_NANOS; // the shortest so far

    public FleetClaims(
            Layer layer,
            ClaimStore claims,
            boolean isInPacks,
            CompileTimes compileTimes,
            Duration limit,
            Ticker time,
            Counters counters,
            EventDispatcher events) {
        this.layer = layer;
        this.claims = claims;
        this.isInPacks = isInPacks;
        this.compileTimes = compileTimes;
        this.limit = limit;
        this.time = time;
        this.counters = counters;
        this.events = events;
    }

    /**
     * Outcome of a claim.
     *
     * @param stored the entry of another machine; if it is empty or cannot be used, the lookup
     *     compiles
     * @param failed to be run if the compile fails
     */
    record Outcome(Optional<Found.Stored> stored, Runnable failed) {
        /** The lookup compiles, whatever others do. */
        static final Outcome NONE = new Outcome(Optional.empty(), () -> {});

        /** Another machine compiles, and the lookup does not wait. */
        static final Outcome TAKEN = new Outcome(Optional.empty(), () -> {});
    }

    /**
     * Claims the compile of {@code id}, which no tier has, or waits for that of another machine.
     *
     * @param waits false to look once whether its entry is there
     */
    Outcome claim(Id id, boolean waits) {
        Duration expected = Duration.ofNanos(compileTimes.expected());
        if (layer.bounds().failure().isPresent() || isCheap(expected)) {
            return Outcome.NONE;
        }
        RandomGenerator random = ThreadLocalRandom.current();
        String nonce = "%016x%016x".formatted(random.nextLong(), random.nextLong());
        Claim own = new Claim(nonce, expected, isInPacks ? State.PACKING : State.COMPILING);
        long start = time.nanos();
        Result result = ask(() -> claims.claim(id, own));
        if (!(result instanceof Result.Unavailable)) { // which may need no request
            roundTripNanos = Math.min(roundTripNanos, time.nanos() - start);
        }
        for (int turn = 0; turn < TURNS && result instanceof Result.Taken taken; turn++) {
            if (taken.claim().state() == State.PACKING && !isInPacks) {
                return Outcome.NONE; // its entry comes later than a compile here
            }
            LoadResult polled = waits ? await(id, taken) : poll(id);
            if (polled instanceof LoadResult.Hit(Entry entry)) {
                Duration waited = Duration.ofNanos(time.nanos() - start);
                return new Outcome(Optional.of(layer.stored(entry, waited)), () -> {});
            }
            if (polled instanceof LoadResult.Damaged) {
                return Outcome.NONE; // its holder has published it, and compiles no more
            }
            if (!waits) {
                return Outcome.TAKEN;
            }
            // an unknown compile that has taken so long may take as long again
            Claim next = expectedNanos(taken.claim()) == 0
                    ? new Claim(nonce, UNKNOWN_WAIT, own.state())
                    : own;
            result = Thread.currentThread().isInterrupted()
                    ? new Result.Unavailable("interrupted")
                    : ask(() -> claims.takeOver(id, taken, next));
            if (result instanceof Result.Mine) {
                counters.increment(Counter.FLEET_TAKEOVERS);
            }
        }
        if (!(result instanceof Result.Mine mine)) {
            return Outcome.NONE;
        }
        counters.increment(Counter.FLEET_CLAIMS);
        return new Outcome(
                Optional.empty(),
                () -> ask(() -> {
                    claims.fail(id, mine, own);
                    return mine;
                }));
    }

    private boolean isCheap(Duration expected) {
        return !expected.isZero() && expected.toNanos() / LEAST_ROUND_TRIPS < roundTripNanos;
    }

    private Result ask(Callable<Result> question) {
        return layer.bounds().ask(question, Result.Unavailable::new);
    }

    /** Waits for the entry of another machine; a miss if it has failed, or takes too long. */
    private LoadResult await(Id id, Result.Taken taken) {
        long expected = expectedNanos(taken.claim());
        long compile = Math.min(
                limit.toNanos(),
                expected == 0 ? UNKNOWN_WAIT.toNanos() : 2 * expected + PUBLICATION.toNanos());
        Duration longest = Duration.ofNanos(compile)
                .plus(taken.claim().state() == State.PACKING ? PACKS : Duration.ZERO);
        // a claim without an entry may have been left long ago: any age, if the dates err
        Duration age = taken.age().orElse(Duration.ZERO);
        Duration left = age.compareTo(longest) < 0 ? longest.minus(age) : Duration.ZERO;
        Deadline end = Deadline.after(left, time::nanos);
        long pause = Math.clamp(expected / 8, MIN_PAUSE_NANOS, MAX_PAUSE_NANOS);
        Span span = events.begin(EventKind.WAIT);
        counters.increment(Counter.FLEET_WAITS);
        LoadResult polled = LoadResult.ABSENT;
        for (int polls = 1; !Thread.currentThread().isInterrupted(); polls++) {
            polled = poll(id);
            if (polled instanceof LoadResult.Hit
                    || polled instanceof LoadResult.Damaged
                    || end.isOver()
                    || taken.claim().hasFailed()
                    || (polls % POLLS_PER_CLAIM == 0 && hasFailed(id))) {
                break;
            }
            time.pauseQuietly(Duration.ofNanos(
                    Math.min(end.left(), pause / 2 + ThreadLocalRandom.current().nextLong(pause))));
            pause = Math.min(MAX_PAUSE_NANOS, pause + pause / 2);
        }
        boolean isThere = polled instanceof LoadResult.Hit;
        counters.increment(isThere ? Counter.FLEET_WAIT_HITS : Counter.FLEET_WAIT_EXPIRED);
        GranaryEvent.Wait.Outcome outcome =
                isThere ? GranaryEvent.Wait.Outcome.STORED : GranaryEvent.Wait.Outcome.GIVEN_UP;
        span.end(took -> new GranaryEvent.Wait(EventDispatcher.digest(id), outcome, took));
        return polled;
    }

    /** Loads the entry; from a pack that is named by now if other machines publish in packs. */
    private LoadResult poll(Id id) {
        return layer.bounds()
                .ask(
                        () -> isInPacks
                                ? layer.bucket().orElseThrow().uncached().apply(id)
                                : claims.poll(id),
                        LoadResult.Unavailable::new);
    }

    private boolean hasFailed(Id id) {
        return ask(() -> claims.read(id)) instanceof Result.Taken now
                && now.claim().hasFailed();
    }

    /** Returns the shorter of the expectations that are known; 0 if none is. */
    private long expectedNanos(Claim claim) {
        long there = claim.expected().toNanos();
        long here = compileTimes.expected();
        return there == 0 || here == 0 ? Math.max(there, here) : Math.min(there, here);
    }
}
