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
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/** Tests that publishers that end at the same moment all get their packs named, in virtual time. */
class ManyPublishersTest {
    private static final int PUBLISHERS = 300;
    private static final Duration ROUND_TRIP = Duration.ofMillis(20);

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
        public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
            pause(ROUND_TRIP);
            return super.putIfAbsent(key, body, marks);
        }

        @Override
        public WriteResult replaceIfMatch(String key, String etag, byte[] body, ObjectMarks marks) {
            pause(ROUND_TRIP);
            return super.replaceIfMatch(key, etag, body, marks);
        }
    };

    /** A publisher that sleeps, or waits for a response. */
    private record Waiting(long until, int number) {}

    private void pause(Duration duration) {
        int number = current;
        waiting.add(new Waiting(now + duration.toNanos(), number));
        all.get(number).yieldTurn();
    }

    @Test
    @DisplayName("300 publishers that end at the same moment all get their packs named")
    void manyPublishers() {
        TestEntries entries = new TestEntries("many publishers");
        SplittableRandom random = TestSeed.random("many publishers");
        List<StoreResult> results = new ArrayList<>();
        for (int i = 0; i < PUBLISHERS; i++) {
            PackPublisher publisher = publisher(random.split());
            assertTrue(publisher.add(entries.entry(entries.id(), 20), results::add));
            all.add(fibers.start(publisher::finish));
            waiting.add(new Waiting(0, i));
        }
        for (Waiting next = waiting.poll(); next != null; next = waiting.poll()) {
            now = next.until();
            current = next.number();
            all.get(current).resume();
        }
        assertEquals(PUBLISHERS, results.size());
        assertTrue(results.stream().allMatch(StoreResult.Stored.class::isInstance));
        List<PackInfo> packs = new ArrayList<>();
        waiting.clear();
        all.set(current, fibers.start(() -> packs.addAll(packs())));
        Fibers.Fiber reader = all.get(current);
        while (!reader.isDone()) {
            reader.resume();
        }
        assertEquals(PUBLISHERS, new HashSet<>(packs).size());
        assertEquals(PUBLISHERS, packs.size());
        System.out.println("granary.publishers: " + PUBLISHERS + " packs named after "
                + Duration.ofNanos(now).toSeconds() + " s of virtual time and "
                + network.requests().size() + " requests");
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
                network,
                PackFixture.KEYS,
                register(random),
                new PackNamer(network, PackFixture.KEYS, register(random), evidence -> {
                    throw new IllegalStateException(evidence);
                }),
                _ -> new StoreResult.Failed("a pack was not named"),
                random,
                ticker);
    }
}
