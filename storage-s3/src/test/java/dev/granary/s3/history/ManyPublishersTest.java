package dev.granary.s3.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackNamer;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Tests that publishers that end at the same moment all get their packs named, in virtual time, and
 * prints the cost beside that of a bare loop of If-Match on one object.
 */
class ManyPublishersTest {
    private static final Duration ROUND_TRIP = Duration.ofMillis(20);
    private static final byte[] BARE = new byte[264];

    private final Fibers fibers = new Fibers();
    private final PriorityQueue<Waiting> waiting = new PriorityQueue<>(
            Comparator.comparingLong(Waiting::until).thenComparingInt(Waiting::number));
    private final List<Fibers.Fiber> all = new ArrayList<>();
    private long now;
    private int current;

    private final Ticker ticker = new Ticker() {
        @Override
        public long nanos() {
            return now;
        }

        @Override
        public void pause(Duration duration) {
            ManyPublishersTest.this.pause(duration);
        }
    };

    private final MemoryObjectStore network = new MemoryObjectStore() {
        @Override
        public GetResult get(String key, long limit) {
            pause(ROUND_TRIP);
            return super.get(key, limit);
        }

        @Override
        public WriteResult putIfAbsent(String key, byte[] body) {
            pause(ROUND_TRIP);
            return super.putIfAbsent(key, body);
        }

        @Override
        public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
            pause(ROUND_TRIP);
            return super.replaceIfMatch(key, etag, body);
        }
    };

    /** A publisher that sleeps, or waits for a response. */
    private record Waiting(long until, int number) {}

    /** What some publishers cost together. */
    private record Cost(long requests, Duration time) {}

    private void pause(Duration duration) {
        int number = current;
        waiting.add(new Waiting(now + duration.toNanos(), number));
        all.get(number).yieldTurn();
    }

    /** Runs tasks that begin at the same moment. */
    private Cost run(List<Runnable> tasks) {
        now = 0;
        all.clear();
        network.forgetRequests();
        for (Runnable task : tasks) {
            waiting.add(new Waiting(0, all.size()));
            all.add(fibers.start(task));
        }
        for (Waiting next = waiting.poll(); next != null; next = waiting.poll()) {
            now = next.until();
            current = next.number();
            all.get(current).resume();
        }
        return new Cost(network.requests().size(), Duration.ofNanos(now));
    }

    @Test
    @DisplayName("100 publishers that end at the same moment all get their packs named")
    void some() {
        publish(100);
    }

    @ParameterizedTest
    @ValueSource(ints = {300, 1000})
    @Tag("exhaustive")
    @DisplayName("more publishers that end at the same moment all get their packs named")
    void many(int publishers) {
        publish(publishers);
    }

    private void publish(int publishers) {
        TestEntries entries = new TestEntries("many publishers");
        SplittableRandom random = TestSeed.random("many publishers");
        List<StoreResult> results = new ArrayList<>();
        List<Runnable> tasks = new ArrayList<>();
        for (int i = 0; i < publishers; i++) {
            PackPublisher publisher = publisher(random.split());
            assertTrue(publisher.add(entries.entry(entries.id(), 20), results::add));
            tasks.add(publisher::finish);
        }
        Cost packed = run(tasks);
        assertEquals(publishers, results.size());
        assertTrue(results.stream().allMatch(StoreResult.Stored.class::isInstance));
        List<PackInfo> packs = new ArrayList<>();
        Cost ignored = run(List.of(() -> packs.addAll(packs())));
        assertEquals(publishers, new HashSet<>(packs).size());
        assertEquals(publishers, packs.size());
        Cost bare = run(IntStream.range(0, publishers)
                .<Runnable>mapToObj(i -> () -> replace(i, random.split()))
                .toList());
        System.out.printf(
                Locale.ROOT,
                "granary.publishers: %d packs named: %.1f requests each, %.1f s of virtual time;"
                        + " bare loop of If-Match: %.1f, %.1f s; ratios %.2f, %.2f%n",
                publishers,
                (double) packed.requests() / publishers,
                packed.time().toMillis() / 1000.0,
                (double) bare.requests() / publishers,
                bare.time().toMillis() / 1000.0,
                (double) packed.requests() / bare.requests(),
                (double) packed.time().toMillis() / bare.time().toMillis());
    }

    /**
     * Writes an object, and creates or replaces another one: the least that a publisher could do.
     */
    private void replace(int number, SplittableRandom random) {
        network.putIfAbsent("pack " + number, BARE);
        for (int attempt = 0; ; attempt++) {
            WriteResult written = network.get("bare", 1000) instanceof GetResult.Found found
                    ? network.replaceIfMatch("bare", found.etag(), BARE)
                    : network.putIfAbsent("bare", BARE);
            if (written instanceof WriteResult.Done) {
                return;
            }
            long longest = 50L << Math.min(attempt, 8);
            pause(Duration.ofMillis(1 + random.nextLong(longest)));
        }
    }

    private List<PackInfo> packs() {
        try {
            return register(new SplittableRandom(1)).packs();
        } catch (RegisterException e) {
            throw new IllegalStateException(e);
        }
    }

    private Register register(SplittableRandom random) {
        return new Register(network, PackFixture.KEYS, random, ticker);
    }

    private PackPublisher publisher(SplittableRandom random) {
        return new PackPublisher(
                register(random),
                new PackNamer(register(random), evidence -> {
                    throw new IllegalStateException(evidence);
                }),
                _ -> new StoreResult.Failed("a pack was not named"));
    }
}
