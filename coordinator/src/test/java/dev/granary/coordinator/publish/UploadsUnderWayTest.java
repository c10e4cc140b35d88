package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.session.ProcessSession;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What has begun and has no answer yet: its memory, and its note. */
class UploadsUnderWayTest {
    private static final int AT_ONCE = 8;
    private static final int IN_MEMORY = 3; // of what is large
    private static final int ROUNDS = 20;
    private static final MemorySegment LARGE = MemorySegment.ofArray(new byte[20 << 20]);

    private final FakeBucket local = new FakeBucket();
    private final FakeBucket bucket = new FakeBucket();
    private final LookupCounters counters = new LookupCounters();
    private final Map<Id, StoreResult> told = new ConcurrentHashMap<>();

    private static Entry large(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.ofSegments(List.of(LARGE)));
    }

    private static Entry small(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(new byte[1]));
    }

    private static boolean isIdleSoon(UploadQueue uploads) throws InterruptedException {
        return uploads.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos());
    }

    /** The local tier, whose look-ups wait until they are released. */
    private final class SlowTier implements PersistentCache {
        private final CountDownLatch released = new CountDownLatch(1);
        private final CountDownLatch begun = new CountDownLatch(IN_MEMORY);

        @Override
        public LoadResult load(Id id) {
            begun.countDown();
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
    @DisplayName("R23 what is read from the local tier to be sent takes no room, though callers ask for it meanwhile")
    void askedForWhileRead() throws Exception {
        SlowTier slow = new SlowTier();
        try (UploadQueue uploads = new UploadQueue(new CountingCache(slow), EntryUploader.alone(new CountingCache(bucket)), Optional.empty(), counters)) {
            List<Entry> inherited = List.of(large("inherited 0"), large("inherited 1"), large("inherited 2"));
            inherited.forEach(entry -> {
                local.store(entry);
                uploads.addInherited(entry.id());
            });
            slow.begun.await();
            inherited.forEach(entry -> uploads.add(entry, StoreResult.DUPLICATE, told::put));
            slow.released.countDown();
            assertTrue(isIdleSoon(uploads));
            assertEquals(IN_MEMORY, local.loads.get());
            bucket.mood = FakeBucket.Mood.HANGS;
            for (int i = 0; i < AT_ONCE; i++) {
                uploads.add(small("sent " + i), StoreResult.DUPLICATE, told::put);
            }
            while (bucket.stores.get() < IN_MEMORY + AT_ONCE) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < IN_MEMORY; i++) {
                uploads.add(large("in memory " + i), StoreResult.DUPLICATE, told::put);
            }
            bucket.released.countDown();
            assertTrue(isIdleSoon(uploads));
        }
        assertEquals(IN_MEMORY, local.loads.get(), "all the room was there for what came later");
        assertEquals(AT_ONCE + 2 * IN_MEMORY, bucket.entries.size());
    }

    private WeakReference<Entry> addSmall(UploadQueue uploads) {
        Entry entry = small("kept");
        uploads.add(entry, StoreResult.DUPLICATE, told::put);
        return new WeakReference<>(entry);
    }

    @Test
    @DisplayName("R23 an entry that the sender keeps in a form of its own is not held in memory beside it")
    void keptInOneForm() throws Exception {
        KeepingUploader sender = new KeepingUploader();
        try (UploadQueue uploads = new UploadQueue(new CountingCache(local), sender, Optional.empty(), counters)) {
            WeakReference<Entry> entry = addSmall(uploads);
            while (sender.kept.isEmpty()) {
                Thread.onSpinWait();
            }
            long start = System.nanoTime();
            while (!entry.refersTo(null)) {
                assertTrue(System.nanoTime() - start < TestNode.LONG.toNanos(), "still held");
                System.gc();
            }
            assertTrue(isIdleSoon(uploads));
        }
        assertEquals(1, told.size());
    }

    @Test
    @DisplayName("A2 R21 an answer and a caller at once, in either order: what is under way afterwards is noted, and nothing else")
    void noteAtOnce(@TempDir Path directory) throws Exception {
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            TestNode node = new TestNode(directory, bucket);
            for (int round = 0; round < ROUNDS; round++) {
                KeepingUploader sender = new KeepingUploader();
                try (UploadQueue uploads = new UploadQueue(new CountingCache(local), sender, Optional.of(outbox), counters)) {
                    Entry entry = small("round " + round);
                    uploads.add(entry, StoreResult.DUPLICATE, (_, _) -> {});
                    while (sender.kept.isEmpty()) {
                        Thread.onSpinWait();
                    }
                    Runnable answer = () -> sender.kept.getFirst().accept(new StoreResult.Stored(1));
                    Runnable caller = () -> uploads.add(entry, StoreResult.DUPLICATE, told::put);
                    runAtOnce(uploads, round % 2 == 0 ? List.of(answer, caller) : List.of(caller, answer));
                    assertEquals(told.containsKey(entry.id()) ? 0 : 1, node.sessionFiles(UploadOutbox.DIRECTORY).size(), "round " + round);
                    assertTrue(isIdleSoon(uploads));
                }
                assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
            }
        }
        assertEquals(ROUNDS, told.size());
    }

    /** Lets neither go on before both have come as far as they can, in this order. */
    private static void runAtOnce(UploadQueue uploads, List<Runnable> both) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        synchronized (uploads) {
            for (Runnable one : both) {
                Thread thread = Thread.ofPlatform().start(one);
                threads.add(thread);
                while (thread.isAlive() && thread.getState() != Thread.State.BLOCKED) {
                    Thread.onSpinWait();
                }
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
