package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.machine.ProcessSession;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** Memory and outbox of uploads without a result. */
class UploadsUnderWayTest {
    private static final int WORKERS = 8;
    private static final int IN_MEMORY = 3; // of large entries
    private static final int ROUNDS = 20;
    private static final MemorySegment LARGE = MemorySegment.ofArray(new byte[20 << 20]);

    private final FakeBucket local = new FakeBucket();
    private final FakeBucket bucket = new FakeBucket();
    private final Counters counters = new Counters();
    private final Map<Id, StoreResult> results = new ConcurrentHashMap<>();

    private static Entry large(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.ofSegments(List.of(LARGE)));
    }

    private static Entry small(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(new byte[1]));
    }

    private static boolean isIdleSoon(UploadQueue queue) throws InterruptedException {
        return queue.awaitIdle(Deadline.after(TestNode.LONG));
    }

    /** A local tier whose lookups block until they are released. */
    private final class SlowTier implements PersistentCache {
        private final CountDownLatch released = new CountDownLatch(1);
        private final CountDownLatch started = new CountDownLatch(IN_MEMORY);

        @Override
        public LoadResult load(Id id) {
            started.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                return new LoadResult.Unavailable("interrupted");
            }
            return local.load(id);
        }

        @Override
        public StoreResult store(Entry entry) {
            return local.store(entry);
        }

        @Override
        public void discard(Entry entry) {}

        @Override
        public void close() {}
    }

    @Test
    @DisplayName("an entry that is being read from the local tier uses no memory if it is queued"
            + " again")
    void queuedWhileRead() throws Exception {
        SlowTier slow = new SlowTier();
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(slow),
                EntryUploader.unpacked(TestTiers.local(bucket)),
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put)) {
            List<Entry> inherited =
                    List.of(large("inherited 0"), large("inherited 1"), large("inherited 2"));
            inherited.forEach(entry -> {
                local.store(entry);
                queue.addInherited(entry.id());
            });
            slow.started.await();
            inherited.forEach(entry -> queue.add(entry, StoreResult.DUPLICATE));
            slow.released.countDown();
            assertTrue(isIdleSoon(queue));
            assertEquals(IN_MEMORY, local.loads.get());
            bucket.behavior = FakeBucket.Behavior.HANGS;
            for (int i = 0; i < WORKERS; i++) {
                queue.add(small("sent " + i), StoreResult.DUPLICATE);
            }
            Await.holds(() -> bucket.stores.get() >= IN_MEMORY + WORKERS);
            for (int i = 0; i < IN_MEMORY; i++) {
                queue.add(large("in memory " + i), StoreResult.DUPLICATE);
            }
            bucket.released.countDown();
            assertTrue(isIdleSoon(queue));
        }
        assertEquals(IN_MEMORY, local.loads.get(), "all memory was free for later entries");
        assertEquals(WORKERS + 2 * IN_MEMORY, bucket.entries.size());
    }

    private WeakReference<Entry> addSmall(UploadQueue queue) {
        Entry entry = small("buffered");
        queue.add(entry, StoreResult.DUPLICATE);
        return new WeakReference<>(entry);
    }

    @Test
    @DisplayName("an entry that the uploader buffers is not kept in memory twice")
    void bufferedOnce() throws Exception {
        KeepingUploader uploader = new KeepingUploader();
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                uploader,
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put)) {
            WeakReference<Entry> entry = addSmall(queue);
            Await.holds(() -> !uploader.buffered.isEmpty());
            Await.collected(() -> entry.refersTo(null));
            assertTrue(isIdleSoon(queue));
        }
        assertEquals(1, results.size());
    }

    @Test
    @DisplayName("after a concurrent result and caller, exactly the pending upload is in the"
            + " outbox")
    void outboxUnderConcurrency(@TempDir Path directory) throws Exception {
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            TestNode node = new TestNode(directory, bucket);
            for (int round = 0; round < ROUNDS; round++) {
                KeepingUploader uploader = new KeepingUploader();
                try (UploadQueue queue = new UploadQueue(
                        TestTiers.local(local),
                        uploader,
                        Optional.of(outbox),
                        counters,
                        Ticker.SYSTEM,
                        results::put)) {
                    Entry entry = small("round " + round);
                    queue.add(entry, StoreResult.DUPLICATE);
                    Await.holds(() -> !uploader.buffered.isEmpty());
                    Runnable answer =
                            () -> uploader.buffered.getFirst().accept(new StoreResult.Stored(1));
                    Runnable caller = () -> queue.add(entry, StoreResult.DUPLICATE);
                    runAtOnce(
                            queue,
                            round % 2 == 0 ? List.of(answer, caller) : List.of(caller, answer));
                    assertEquals(
                            queue.size(),
                            node.sessionFiles(UploadOutbox.DIRECTORY).size(),
                            "round " + round);
                    assertTrue(isIdleSoon(queue));
                }
                assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
            }
        }
        assertEquals(ROUNDS, results.size());
    }

    /** Starts both, in this order, and blocks them at the lock until both have reached it. */
    private static void runAtOnce(UploadQueue queue, List<Runnable> both)
            throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        synchronized (queue) {
            for (Runnable each : both) {
                Thread thread = Thread.ofPlatform().start(each);
                threads.add(thread);
                Await.holds(() -> !thread.isAlive() || thread.getState() == Thread.State.BLOCKED);
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
