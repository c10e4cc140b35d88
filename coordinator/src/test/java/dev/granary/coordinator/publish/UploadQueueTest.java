package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
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
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What waits for a bucket that is slow. */
class UploadQueueTest {
    private static final int AT_ONCE = 8;
    private static final MemorySegment LARGE = MemorySegment.ofArray(new byte[20 << 20]);

    private final FakeBucket local = new FakeBucket();
    private final FakeBucket bucket = new FakeBucket();
    private final LookupCounters counters = new LookupCounters();
    private final Map<Id, StoreResult> told = new ConcurrentHashMap<>();
    private final UploadQueue uploads =
            new UploadQueue(new CountingCache(local), EntryUploader.alone(new CountingCache(bucket)), Optional.empty(), counters);

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

    private static Entry small(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(new byte[1]));
    }

    @Test
    @DisplayName("A1 B11 an id that the outbox and a caller ask for at once is sent once, and both hear the one answer; the note stays if it failed")
    void oneAnswerForOneId(@TempDir Path directory) throws Exception {
        KeepingUploader sender = new KeepingUploader();
        Entry entry = small("asked for twice");
        local.store(entry);
        List<StoreResult> heard = new CopyOnWriteArrayList<>();
        TestNode node = new TestNode(directory, bucket);
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            outbox.add(entry.id());
            for (StoreResult answer : List.of(new StoreResult.Failed("the manifest is not committed"), new StoreResult.Stored(1))) {
                heard.clear();
                sender.answer = () -> answer;
                try (UploadQueue both = new UploadQueue(new CountingCache(local), sender, Optional.of(outbox), counters)) {
                    both.addInherited(entry.id());
                    both.add(entry, StoreResult.DUPLICATE, (_, result) -> heard.add(result));
                    both.add(entry, StoreResult.DUPLICATE, (_, result) -> heard.add(result));
                    assertTrue(both.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
                }
                assertEquals(List.of(answer, answer), heard);
                assertEquals(answer instanceof StoreResult.Stored ? 0 : 1, node.sessionFiles(UploadOutbox.DIRECTORY).size());
            }
        }
    }

    @Test
    @DisplayName("A2 B6 the note of an entry that no bucket could ever take goes; of every other refusal it stays")
    void noteOfRefusal(@TempDir Path directory) throws Exception {
        bucket.mood = FakeBucket.Mood.REFUSES_WRITES;
        Entry never = TestEntries.entry(TestEntries.id("too many"), KernelBinaries.of(Collections.nCopies(2000, new byte[1]).toArray(byte[][]::new)));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            try (UploadQueue noting = new UploadQueue(new CountingCache(local), EntryUploader.alone(new CountingCache(bucket)), Optional.of(new UploadOutbox(session, "s3://test")), counters)) {
                noting.add(never, StoreResult.DUPLICATE, told::put);
                noting.add(small("later"), StoreResult.DUPLICATE, told::put);
                assertTrue(noting.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            }
            List<Path> notes = new TestNode(directory, bucket).sessionFiles(UploadOutbox.DIRECTORY);
            assertEquals(1, notes.size());
            assertTrue(notes.getFirst().getFileName().toString().startsWith(small("later").id().hash().hex()));
        }
    }

    @Test
    @DisplayName("S2 A7 an error of a sender, at once or when it finishes, and one that never answers: flush ends, everybody hears it, later uploads work")
    void errors() throws Exception {
        KeepingUploader sender = new KeepingUploader();
        AtomicReference<Error> thrown = new AtomicReference<>(new OutOfMemoryError("of a test"));
        EntryUploader failing = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                if (entry.id().equals(TestEntries.id("at once"))) {
                    throw thrown.get();
                }
                sender.send(entry, whenDone);
            }

            @Override
            public void finish() {
                sender.finish();
            }

            @Override
            public void close() {}
        };
        try (UploadQueue all = new UploadQueue(new CountingCache(local), failing, Optional.empty(), counters)) {
            all.add(small("at once"), StoreResult.DUPLICATE, (id, result) -> {
                told.put(id, result);
                throw new StackOverflowError("of a listener");
            });
            assertTrue(all.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            sender.answer = () -> {
                throw thrown.get();
            };
            all.add(small("when it finishes"), StoreResult.DUPLICATE, told::put);
            assertTrue(all.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            sender.answer = () -> new StoreResult.Stored(1);
            sender.isSilent = true;
            all.add(small("never"), StoreResult.DUPLICATE, told::put);
            assertTrue(all.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            assertEquals(3, told.values().stream().filter(StoreResult.Failed.class::isInstance).count(), told::toString);
            assertEquals(3, counters.dropped.sum(), "none is noted");
            sender.isSilent = false;
            all.add(small("later"), StoreResult.DUPLICATE, told::put);
            assertTrue(all.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            assertInstanceOf(StoreResult.Stored.class, told.get(small("later").id()));
        }
    }

    private boolean isIdleSoon(UploadQueue waiting) throws InterruptedException {
        return waiting.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos());
    }

    @Test
    @DisplayName("R23 what was sent takes no room any more, whoever asks for it again, and what several ask for takes room once")
    void roomAgain() throws Exception {
        try (uploads) {
            bucket.mood = FakeBucket.Mood.HANGS;
            for (int i = 0; i < AT_ONCE; i++) {
                add(large("sent " + i));
                while (bucket.stores.get() <= i) {
                    Thread.onSpinWait();
                }
            }
            for (int i = 0; i < AT_ONCE; i++) {
                add(large("sent " + i));
            }
            add(small("the queue is not empty"));
            for (int i = 0; i < 10; i++) {
                add(large("asked for by ten"));
            }
            add(large("beside it"));
            add(large("and another one"));
            bucket.released.countDown();
            assertTrue(isIdleSoon(uploads));
        }
        assertEquals(0, local.loads.get());
        assertEquals(AT_ONCE + 4, bucket.entries.size());
    }

    @Test
    @DisplayName("R23 beyond the budget an entry that is on its way already is not dropped, though the local tier could not keep it")
    void onItsWay() throws Exception {
        try (uploads) {
            fillMemory();
            Entry same = large("in memory 1");
            List<StoreResult> heard = new CopyOnWriteArrayList<>();
            uploads.add(same, new StoreResult.Failed("the disk is full"), (_, result) -> heard.add(result));
            assertEquals(List.of(), heard);
            bucket.released.countDown();
            assertTrue(isIdleSoon(uploads));
            assertInstanceOf(StoreResult.Stored.class, heard.getFirst());
            assertEquals(0, counters.dropped.sum());
        }
    }

    @Test
    @DisplayName("A1 B11 an id that is on its way is not sent again for what another process left of it")
    void inheritedOnItsWay() throws Exception {
        KeepingUploader sender = new KeepingUploader();
        try (UploadQueue keeping = new UploadQueue(new CountingCache(local), sender, Optional.empty(), counters)) {
            Entry entry = small("left, too");
            keeping.add(entry, local.store(entry), told::put);
            while (sender.kept.isEmpty()) {
                Thread.onSpinWait();
            }
            keeping.addInherited(entry.id());
            keeping.addInherited(entry.id());
            sender.answer = () -> {
                assertEquals(1, sender.kept.size());
                return new StoreResult.Stored(1);
            };
            assertTrue(isIdleSoon(keeping));
            assertInstanceOf(StoreResult.Stored.class, told.get(entry.id()));
        }
    }

    @Test
    @DisplayName("A1 a sender that answers twice: only the first answer counts, and a second one is none for the next upload of that id")
    void answersTwice() throws Exception {
        List<Consumer<StoreResult>> all = new CopyOnWriteArrayList<>();
        EntryUploader twice = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                all.add(whenDone);
                if (all.size() == 1) {
                    whenDone.accept(new StoreResult.Failed("first"));
                }
            }

            @Override
            public void finish() {
                all.getFirst().accept(new StoreResult.Stored(1)); // of the first upload
                all.getLast().accept(new StoreResult.Failed("last"));
            }

            @Override
            public void close() {}
        };
        List<String> heard = new CopyOnWriteArrayList<>();
        try (UploadQueue keeping = new UploadQueue(new CountingCache(local), twice, Optional.empty(), counters)) {
            for (String name : List.of("first", "second")) {
                keeping.add(small("answered twice"), StoreResult.DUPLICATE, (_, result) -> heard.add(name + ": " + result));
                assertTrue(isIdleSoon(keeping));
            }
        }
        assertEquals(List.of("first: " + new StoreResult.Failed("first"), "second: " + new StoreResult.Failed("last")), heard);
        assertEquals(2, counters.dropped.sum());
    }

    /** Uploads one entry to a bucket that answers so; returns how many notes are left. */
    private int notesAfter(Path directory, StoreResult answer, Consumer<UploadQueue> work) throws Exception {
        EntryUploader answering = EntryUploader.alone(new CountingCache(new PersistentCache() {
            @Override
            public LoadResult load(Id id) {
                return LoadResult.ABSENT;
            }

            @Override
            public StoreResult store(Entry entry) {
                return answer;
            }

            @Override
            public void discard(Entry entry) {}

            @Override
            public void close() {}
        }));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            try (UploadQueue noting = new UploadQueue(new CountingCache(local), answering, Optional.of(outbox), counters)) {
                work.accept(noting);
                assertTrue(isIdleSoon(noting));
            }
            return new TestNode(directory, bucket).sessionFiles(UploadOutbox.DIRECTORY).size();
        }
    }

    @Test
    @DisplayName("A2 R21 the note goes once the bucket has an entry of that id, of the same content or another; it stays where nobody knows")
    void noteOfAnswer(@TempDir Path directory) throws Exception {
        Consumer<UploadQueue> add = noting -> noting.add(small("noted"), StoreResult.DUPLICATE, told::put);
        for (StoreResult there : List.of(new StoreResult.Stored(1), StoreResult.DUPLICATE, StoreResult.DIVERGENT)) {
            assertEquals(0, notesAfter(directory.resolve("a" + there.getClass().getSimpleName()), there, add), there::toString);
        }
        assertEquals(0, counters.leftForLater.sum());
        for (StoreResult open : List.of(new StoreResult.Failed("no"), new StoreResult.Unknown("who knows"), new StoreResult.Refused("not now"))) {
            assertEquals(1, notesAfter(directory.resolve("b" + open.getClass().getSimpleName()), open, add), open::toString);
        }
        assertEquals(3, counters.leftForLater.sum());
        assertEquals(0, counters.dropped.sum());
    }

    @Test
    @DisplayName("R21 what left the local tier, or is damaged there, before its turn: told, counted, and not noted any more; unreadable for now: noted")
    void leftTheLocalTier(@TempDir Path directory) throws Exception {
        Id id = TestEntries.id("left the local tier");
        for (FakeBucket.Mood mood : List.of(FakeBucket.Mood.WORKS, FakeBucket.Mood.IS_DAMAGED, FakeBucket.Mood.IS_DOWN)) {
            local.mood = mood;
            long dropped = counters.dropped.sum();
            Path own = directory.resolve(mood.name());
            try (ProcessSession session = ProcessSession.begin(own)) {
                UploadOutbox outbox = new UploadOutbox(session, "s3://test");
                outbox.add(id);
                try (UploadQueue noting = new UploadQueue(new CountingCache(local), EntryUploader.alone(new CountingCache(bucket)), Optional.of(outbox), counters)) {
                    noting.addInherited(id);
                    assertTrue(isIdleSoon(noting));
                }
                boolean isLater = mood == FakeBucket.Mood.IS_DOWN;
                assertEquals(isLater ? 1 : 0, new TestNode(own, bucket).sessionFiles(UploadOutbox.DIRECTORY).size(), mood::toString);
                assertEquals(isLater ? 0 : 1, counters.dropped.sum() - dropped, mood::toString);
                assertEquals(isLater ? 1 : 0, counters.leftForLater.sum(), mood::toString);
            }
        }
    }

    @Test
    @DisplayName("A2 B6 an entry that no bucket could take, and is read from the local tier when its turn comes: its note goes")
    void unstorableFromTheLocalTier(@TempDir Path directory) throws Exception {
        Entry never = TestEntries.entry(TestEntries.id("too many"), KernelBinaries.of(Collections.nCopies(2000, new byte[1]).toArray(byte[][]::new)));
        local.store(never);
        bucket.mood = FakeBucket.Mood.REFUSES_WRITES;
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            outbox.add(never.id());
            try (UploadQueue noting = new UploadQueue(new CountingCache(local), EntryUploader.alone(new CountingCache(bucket)), Optional.of(outbox), counters)) {
                noting.addInherited(never.id());
                assertTrue(isIdleSoon(noting));
            }
            assertEquals(List.of(), new TestNode(directory, bucket).sessionFiles(UploadOutbox.DIRECTORY));
        }
    }

    @Test
    @DisplayName("R21 what the local tier could not keep, or the outbox could not note, is not left for later, but dropped")
    void notNoted(@TempDir Path directory) throws Exception {
        StoreResult failed = new StoreResult.Failed("no");
        assertEquals(0, notesAfter(directory.resolve("not kept"), failed, noting ->
                noting.add(small("not kept"), new StoreResult.Failed("the disk is full"), told::put)));
        assertEquals(1, counters.dropped.sum());
        try (ProcessSession session = ProcessSession.begin(directory.resolve("not noted"))) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            Files.delete(outboxDirectory(directory.resolve("not noted")));
            bucket.mood = FakeBucket.Mood.IS_DOWN;
            try (UploadQueue noting = new UploadQueue(new CountingCache(local), EntryUploader.alone(new CountingCache(bucket)), Optional.of(outbox), counters)) {
                noting.add(small("not noted"), StoreResult.DUPLICATE, told::put);
                assertTrue(isIdleSoon(noting));
            }
        }
        assertEquals(List.of(2L, 0L), List.of(counters.dropped.sum(), counters.leftForLater.sum()));
    }

    private static Path outboxDirectory(Path node) throws IOException {
        try (Stream<Path> all = Files.walk(node)) {
            return all.filter(path -> path.endsWith(UploadOutbox.DIRECTORY)).findFirst().orElseThrow();
        }
    }

    @Test
    @DisplayName("A2 R21 kept by the sender, asked for again by one whom the local tier failed, and refused for now: the note stays; stored: it goes")
    void noteOfWhatIsKept(@TempDir Path directory) throws Exception {
        KeepingUploader sender = new KeepingUploader();
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            for (StoreResult answer : List.of(new StoreResult.Refused("not now"), new StoreResult.Stored(1))) {
                sender.answer = () -> answer;
                try (UploadQueue keeping = new UploadQueue(new CountingCache(local), sender, Optional.of(outbox), counters)) {
                    keeping.add(small("kept"), StoreResult.DUPLICATE, told::put);
                    while (sender.kept.isEmpty()) {
                        Thread.onSpinWait();
                    }
                    keeping.add(small("kept"), new StoreResult.Failed("the disk is full"), told::put);
                    assertTrue(isIdleSoon(keeping));
                }
                assertEquals(answer instanceof StoreResult.Stored ? 0 : 1, new TestNode(directory, bucket).sessionFiles(UploadOutbox.DIRECTORY).size());
            }
        }
        assertEquals(List.of(1L, 0L), List.of(counters.leftForLater.sum(), counters.dropped.sum()));
    }

    @Test
    @DisplayName("A7 a sender that is slow to finish is asked once, whoever waits; closing ends the waits for it at once")
    void closedWhileFinishing() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger finishes = new AtomicInteger();
        KeepingUploader keeping = new KeepingUploader();
        EntryUploader slow = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                keeping.send(entry, whenDone);
            }

            @Override
            public void finish() {
                finishes.incrementAndGet();
                begun.countDown();
                boolean done = false;
                while (!done) { // as a request that nobody can interrupt
                    try {
                        released.await();
                        done = true;
                    } catch (InterruptedException e) {
                        // closing interrupts the workers
                    }
                }
            }

            @Override
            public void close() {}
        };
        UploadQueue kept = new UploadQueue(new CountingCache(local), slow, Optional.empty(), counters);
        kept.add(small("kept"), StoreResult.DUPLICATE, told::put);
        while (keeping.kept.isEmpty()) {
            Thread.onSpinWait();
        }
        FutureTask<Boolean> waiting = new FutureTask<>(() -> kept.awaitIdle(System.nanoTime() + Duration.ofDays(1).toNanos()));
        Thread.ofPlatform().daemon().start(waiting);
        begun.await();
        assertFalse(kept.awaitIdle(System.nanoTime() + Duration.ofMillis(20).toNanos()));
        kept.close();
        assertFalse(waiting.get(TestNode.LONG.toSeconds(), TimeUnit.SECONDS), "what was kept has no answer");
        released.countDown();
        while (!kept.awaitIdle(0)) {
            Thread.onSpinWait();
        }
        assertEquals(1, finishes.get());
    }

    @Test
    @DisplayName("R21 after closing, what has not begun is waited for no more, and counts as dropped where no outbox keeps it")
    void closedWithQueue() throws Exception {
        bucket.mood = FakeBucket.Mood.HANGS;
        for (int i = 0; i < AT_ONCE + 3; i++) {
            add(small("closed " + i));
        }
        while (bucket.stores.get() < AT_ONCE) {
            Thread.onSpinWait();
        }
        uploads.close();
        assertEquals(AT_ONCE + 3, counters.dropped.sum());
        bucket.released.countDown();
        long deadline = System.nanoTime() + TestNode.LONG.toNanos();
        while (!uploads.awaitIdle(0) && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertTrue(uploads.awaitIdle(0));
        assertEquals(AT_ONCE, bucket.stores.get());
    }
}
