package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What waits for a bucket that is slow. */
class UploadsTest {
    private static final int AT_ONCE = 8;
    private static final MemorySegment LARGE = MemorySegment.ofArray(new byte[20 << 20]);

    private final FakeBucket local = new FakeBucket();
    private final FakeBucket bucket = new FakeBucket();
    private final Counters counters = new Counters();
    private final Map<Id, StoreResult> told = new ConcurrentHashMap<>();
    private final Uploads uploads =
            new Uploads(new Tier(local), Sender.alone(new Tier(bucket)), Optional.empty(), counters);

    private static Entry large(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.ofSegments(List.of(LARGE)));
    }

    private void add(Entry entry) {
        uploads.add(entry, local.store(entry), told::put);
    }

    /** Fills all workers with uploads that hang, and the memory with as much as may wait there. */
    private void fillMemory() {
        bucket.mood = FakeBucket.Mood.HANGS;
        for (int i = 0; i < AT_ONCE; i++) {
            add(TestEntries.entry(TestEntries.id("small " + i), KernelBinaries.of(new byte[1])));
        }
        while (bucket.stores.get() < AT_ONCE) {
            Thread.onSpinWait();
        }
        for (int i = 0; i < 3; i++) {
            add(large("in memory " + i));
        }
    }

    @Test
    @DisplayName("R23 beyond a budget of memory only ids wait; the entries are read from the local tier when their turn comes")
    void readAgain() throws Exception {
        try (uploads) {
            fillMemory();
            add(large("on disk"));
            assertEquals(0, local.loads.get());
            bucket.released.countDown();
            assertTrue(uploads.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            assertEquals(1, local.loads.get());
            assertEquals(AT_ONCE + 4, bucket.entries.size());
        }
    }

    @Test
    @DisplayName("Beyond the budget, what the local tier could not keep is counted as dropped, and told")
    void dropped() throws Exception {
        try (uploads) {
            fillMemory();
            Entry lost = large("nowhere");
            uploads.add(lost, new StoreResult.Failed("the disk is full"), told::put);
            assertEquals(1, counters.dropped.sum());
            assertInstanceOf(StoreResult.Failed.class, told.get(lost.id()));
            bucket.released.countDown();
            assertTrue(uploads.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            assertEquals(AT_ONCE + 3, bucket.entries.size());
        }
        Entry late = large("late");
        uploads.add(late, StoreResult.DUPLICATE, told::put);
        assertEquals(2, counters.dropped.sum(), "nobody uploads it, and no outbox keeps it");
    }
}
