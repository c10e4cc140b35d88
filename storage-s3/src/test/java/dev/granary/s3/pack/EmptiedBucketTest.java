package dev.granary.s3.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.PackCompactor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * A process is suspended until a rule has removed everything and others have begun the register
 * again: their entries are found at every moment.
 */
class EmptiedBucketTest {
    private final TestEntries made = new TestEntries("EmptiedBucketTest");
    private PackFixture bucket = new PackFixture("EmptiedBucketTest");
    private boolean isBusy;

    private void begin(String name) {
        bucket = new PackFixture(name);
        publish(2);
    }

    /** Publishes that many packs. */
    private List<Entry> publish(int packs) {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < packs; i++) {
            all.add(made.entry(30));
            bucket.publish(all.getLast());
        }
        return all;
    }

    private void assertFound(List<Entry> all) {
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
        }
    }

    /**
     * Runs the work, suspended before the request of that number; returns the number of its
     * requests.
     */
    private int suspended(int at, int packsAnew, Runnable work) {
        int[] requests = {0};
        List<Entry> others = new ArrayList<>();
        bucket.store.beforeEach(() -> {
            if (isBusy) {
                return;
            }
            isBusy = true;
            try {
                if (requests[0]++ == at) {
                    bucket.store.pass(Duration.ofDays(100));
                    bucket.store.keys().forEach(bucket.store::remove);
                    others.addAll(publish(packsAnew));
                }
                assertFound(others);
            } finally {
                isBusy = false;
            }
        });
        work.run();
        bucket.store.beforeEach(() -> {});
        assertFound(others);
        others.addAll(publish(2));
        assertFound(others);
        return requests[0];
    }

    /** Suspends the work at each of its requests in turn; returns the number of those. */
    private int suspendedAnywhere(String name, IntFunction<Runnable> work) {
        int requests = 1;
        for (int anew : List.of(0, 2)) {
            for (int at = 0; at < requests; at++) {
                begin(name + " " + anew + " " + at);
                requests = Math.max(requests, suspended(at, anew, work.apply(at)));
            }
        }
        return requests;
    }

    @Test
    @DisplayName("a publisher is suspended at any request until everything was removed and begun"
            + " again: no pack is lost, its own included")
    void publisher() {
        int requests = suspendedAnywhere("publisher", at -> () -> {
            List<StoreResult> results = new ArrayList<>();
            Entry mine = made.entry(30);
            PackPublisher publisher = bucket.publisher();
            assertTrue(publisher.add(mine, results::add));
            publisher.finish();
            // request 3 comes after the swap: what is removed then was acknowledged
            if (results.getFirst() instanceof StoreResult.Stored && at < 3) {
                assertFound(List.of(mine));
            }
        });
        assertTrue(requests >= 4, requests + " requests");
    }

    @Test
    @DisplayName("a compaction is suspended at any request until everything was removed and begun"
            + " again: no pack is lost")
    void compaction() {
        int requests = suspendedAnywhere("compaction", _ -> () -> {
            try {
                PackCompactor compactor = bucket.compactor();
                compactor.run(compactor.plan(Set.of()), Duration.ofDays(1), true, _ -> {});
            } catch (CompactionException e) {
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
        });
        assertTrue(requests >= 8, requests + " requests");
    }

    @Test
    @DisplayName("a deletion is suspended at any request until everything was removed and begun"
            + " again: nothing is deleted that a head names")
    void deletion() {
        int requests = suspendedAnywhere("deletion", _ -> () -> {
            try {
                bucket.remover().run(Duration.ZERO);
                bucket.store.pass(Duration.ofDays(1));
                bucket.remover().run(Duration.ZERO);
            } catch (CompactionException e) {
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
        });
        assertTrue(requests >= 4, requests + " requests");
    }

    @Test
    @DisplayName("a register that begins again is above every name of the removed one")
    void generations() {
        begin("generations");
        long before = bucket.head().generation();
        bucket.store.keys().forEach(bucket.store::remove);
        bucket.store.pass(Duration.ofSeconds(1));
        publish(1);
        assertTrue(bucket.head().boundary() > before);
    }

    @Test
    @DisplayName("only the head was removed: later publications are found, and the packs of the"
            + " removed head are adopted on command")
    void headGone() throws Exception {
        begin("headGone");
        List<Entry> earlier = publish(2);
        bucket.store.remove(PackFixture.KEYS.head());
        bucket.store.pass(Duration.ofSeconds(1));
        List<Entry> later = publish(2);
        assertFound(later);
        bucket.adopter().run();
        assertFound(later);
        assertFound(earlier);
    }
}
