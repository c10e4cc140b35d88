package dev.granary.coordinator.publish;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.RefusedThreads;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.machine.ProcessSession;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.testing.Await;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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

/** The queue of uploads to a slow bucket. */
class UploadQueueTest {
    private static final int WORKERS = 8;
    private static final MemorySegment LARGE = MemorySegment.ofArray(new byte[20 << 20]);

    private final FakeBucket local = new FakeBucket();
    private final FakeBucket bucket = new FakeBucket();
    private final Counters counters = new Counters();
    private final Map<Id, StoreResult> results = new ConcurrentHashMap<>();
    private final UploadQueue queue = new UploadQueue(
            TestTiers.local(local),
            EntryUploader.unpacked(TestTiers.local(bucket)),
            Optional.empty(),
            counters,
            Ticker.SYSTEM,
            results::put);

    /** Returns a large entry with a hash of its name, since one of its content takes long. */
    private static Entry large(String name) {
        return Entry.ofStored(
                TestEntries.id(name),
                KernelBinaries.ofSegments(List.of(LARGE)),
                Duration.ofMillis(100),
                Sha256.of(name.getBytes(UTF_8)),
                Optional::empty);
    }

    private void add(Entry entry) {
        add(queue, entry);
    }

    private void add(UploadQueue queue, Entry entry) {
        queue.add(entry, local.store(entry));
    }

    private void addUnstored(Entry entry) {
        queue.add(entry, new StoreResult.Failed("the disk is full"));
    }

    /** Occupies all workers with uploads that hang, and fills the memory of the queue. */
    private void fillMemory() {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        for (int i = 0; i < WORKERS; i++) {
            add(TestEntries.entry(TestEntries.id("small " + i), KernelBinaries.of(new byte[1])));
        }
        Await.holds(() -> bucket.stores.get() >= WORKERS);
        for (int i = 0; i < 3; i++) {
            addUnstored(large("in memory " + i));
        }
    }

    @Test
    @DisplayName(
            "beyond the memory limit only ids are queued, and the entries are read from the local"
                    + " tier later")
    void readAgain() throws Exception {
        try (queue) {
            fillMemory();
            add(large("on disk"));
            assertEquals(0, local.loads.get());
            bucket.released.countDown();
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            assertEquals(1, local.loads.get());
            assertEquals(WORKERS + 4, bucket.entries.size());
        }
    }

    @Test
    @DisplayName("Beyond the memory limit, an entry that is not in the local tier is dropped and"
            + " reported")
    void dropped() throws Exception {
        try (queue) {
            fillMemory();
            Entry lost = large("nowhere");
            addUnstored(lost);
            assertEquals(1, counters.sum(Counter.STORES_DROPPED));
            assertThat(results.get(lost.id())).isFailed();
            bucket.released.countDown();
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            assertEquals(WORKERS + 3, bucket.entries.size());
        }
        Entry late = large("late");
        add(queue, late);
        assertEquals(
                2, counters.sum(Counter.STORES_DROPPED), "it is neither uploaded nor in an outbox");
    }

    @Test
    @DisplayName("An upload for which the system has no thread stays queued, and is sent later")
    void withoutThread() throws Exception {
        try (queue) {
            Entry entry = small("without a thread");
            try (RefusedThreads _ = new RefusedThreads()) {
                for (int i = 0; i <= WORKERS; i++) {
                    add(small("refused " + i));
                }
                add(entry);
                assertFalse(queue.awaitIdle(Deadline.after(Duration.ZERO)));
            }
            assertEquals(0, bucket.entries.size());
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            assertEquals(WORKERS + 2, bucket.entries.size());
            assertThat(results.get(entry.id())).isStored();
        }
    }

    private static Entry small(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(new byte[1]));
    }

    @Test
    @DisplayName("an id from the outbox and from callers is sent once, with one result; after a"
            + " failure it stays in the outbox")
    void oneResultForOneId(@TempDir Path directory) throws Exception {
        KeepingUploader uploader = new KeepingUploader();
        Entry entry = small("queued twice");
        local.store(entry);
        List<StoreResult> received = new CopyOnWriteArrayList<>();
        TestNode node = new TestNode(directory, bucket);
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            outbox.add(entry.id());
            for (StoreResult answer : List.of(
                    new StoreResult.Failed("the manifest is not committed"),
                    new StoreResult.Stored(1))) {
                received.clear();
                uploader.nextResult = () -> answer;
                try (UploadQueue queue = new UploadQueue(
                        TestTiers.local(local),
                        uploader,
                        Optional.of(outbox),
                        counters,
                        Ticker.SYSTEM,
                        (_, result) -> received.add(result))) {
                    queue.addInherited(entry.id());
                    add(queue, entry);
                    add(queue, entry);
                    assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
                }
                assertEquals(List.of(answer), received);
                assertEquals(
                        answer instanceof StoreResult.Stored ? 0 : 1,
                        node.sessionFiles(UploadOutbox.DIRECTORY).size());
            }
        }
    }

    @Test
    @DisplayName("a refusal of the entry removes it from the outbox and is counted; a"
            + " refusal of the store does not")
    void outboxAfterRefusal(@TempDir Path directory) throws Exception {
        for (StoreResult.Scope scope : StoreResult.Scope.values()) {
            assertEquals(
                    scope == StoreResult.Scope.ENTRY ? 0 : 1,
                    outboxFilesAfter(
                            directory.resolve(scope.name()),
                            new StoreResult.Refused(scope, "413: too large"),
                            queue -> add(queue, small("a"))));
        }
        assertEquals(
                List.of(1L, 1L),
                List.of(counters.sum(Counter.STORES_DROPPED), counters.sum(Counter.UPLOADS_LEFT)));
    }

    @Test
    @DisplayName("after an error of an uploader, or without a result, flush ends, listeners are"
            + " notified, and later uploads work")
    void errors() throws Exception {
        KeepingUploader uploader = new KeepingUploader();
        AtomicReference<Error> thrown = new AtomicReference<>(new OutOfMemoryError("of a test"));
        EntryUploader failing = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                if (entry.id().equals(TestEntries.id("at once"))) {
                    throw thrown.get();
                }
                uploader.send(entry, whenDone);
            }

            @Override
            public void finish() {
                uploader.finish();
            }

            @Override
            public void close() {}
        };
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                failing,
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put)) {
            add(queue, small("at once"));
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            uploader.nextResult = () -> {
                throw thrown.get();
            };
            add(queue, small("when it finishes"));
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            uploader.nextResult = () -> new StoreResult.Stored(1);
            uploader.isSilent = true;
            add(queue, small("never"));
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            assertEquals(
                    3,
                    results.values().stream()
                            .filter(StoreResult.Failed.class::isInstance)
                            .count(),
                    results::toString);
            uploader.isSilent = false;
            add(queue, small("later"));
            assertTrue(queue.awaitIdle(Deadline.after(TestNode.LONG)));
            assertThat(results.get(small("later").id())).isStored();
            assertEquals(0, counters.sum(Counter.STORES_DROPPED), "they wait");
        }
        assertEquals(3, counters.sum(Counter.STORES_DROPPED), "none is in an outbox");
    }

    @Test
    @DisplayName("uploads that failed for a passing reason are tried again by the same"
            + " process: all after a pause, which doubles with each failure")
    void triedAgain(@TempDir Path directory) throws Exception {
        TestTicker ticker = new TestTicker();
        bucket.behavior = FakeBucket.Behavior.IS_DOWN;
        try (ProcessSession session = ProcessSession.begin(directory)) {
            try (UploadQueue queue = new UploadQueue(
                    TestTiers.local(local),
                    EntryUploader.unpacked(TestTiers.local(bucket)),
                    Optional.of(new UploadOutbox(session, "s3://test")),
                    counters,
                    ticker,
                    results::put)) {
                for (int i = 0; i < 5; i++) {
                    Entry entry = small("outage " + i);
                    queue.add(entry, local.store(entry));
                }
                assertTrue(isIdleSoon(queue));
                results.values().forEach(result -> assertThat(result).isFailed());
                assertEquals(5, bucket.stores.get());
                assertAttempts(0, queue, ticker, Duration.ofSeconds(29));
                assertAttempts(5, queue, ticker, Duration.ofSeconds(31));
                assertAttempts(0, queue, ticker, Duration.ofSeconds(59));
                assertAttempts(5, queue, ticker, Duration.ofSeconds(61));
                for (int i = 0; i < 10; i++) {
                    assertAttempts(5, queue, ticker, Duration.ofMinutes(16));
                    assertAttempts(0, queue, ticker, Duration.ofMinutes(1));
                }
                bucket.behavior = FakeBucket.Behavior.WORKS;
                assertAttempts(5, queue, ticker, Duration.ofMinutes(16));
                assertEquals(5, bucket.entries.size());
            }
            assertEquals(
                    List.of(),
                    new TestNode(directory, bucket).sessionFiles(UploadOutbox.DIRECTORY));
        }
        assertEquals(0, counters.sum(Counter.UPLOADS_LEFT));
    }

    @Test
    @DisplayName("after a refusal of any write, further uploads have that result without a request"
            + " until the pause ends")
    void refusedStore() throws Exception {
        TestTicker ticker = new TestTicker();
        AtomicInteger attempts = new AtomicInteger();
        AtomicReference<StoreResult> answer =
                new AtomicReference<>(new StoreResult.Refused(StoreResult.Scope.STORE, "403"));
        EntryUploader answering = EntryUploader.unpacked(TestTiers.local(new FakeBucket() {
            @Override
            public StoreResult store(Entry entry) {
                attempts.incrementAndGet();
                return Objects.requireNonNull(answer.get());
            }
        }));
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                answering,
                Optional.empty(),
                counters,
                ticker,
                results::put)) {
            for (int i = 0; i < 5; i++) {
                add(queue, small("refused " + i));
                assertTrue(isIdleSoon(queue));
            }
            assertEquals(1, attempts.get());
            assertEquals(5, results.size());
            results.values().forEach(result -> assertEquals(answer.get(), result));
            answer.set(new StoreResult.Stored(1));
            ticker.pass(Duration.ofMinutes(1));
            assertTrue(isIdleSoon(queue));
            assertEquals(6, attempts.get());
            add(queue, small("later"));
            assertTrue(isIdleSoon(queue));
            assertThat(results.get(small("later").id())).isStored();
        }
    }

    private void assertAttempts(int expected, UploadQueue queue, TestTicker ticker, Duration later)
            throws Exception {
        int before = bucket.stores.get();
        ticker.pass(later);
        assertTrue(isIdleSoon(queue));
        assertEquals(expected, bucket.stores.get() - before);
    }

    private boolean isIdleSoon(UploadQueue queue) throws InterruptedException {
        return queue.awaitIdle(Deadline.after(TestNode.LONG));
    }

    @Test
    @DisplayName("a sent entry uses no memory if it is queued again, so no later one is read from"
            + " the local tier")
    void sentWithoutReads() throws Exception {
        try (queue) {
            bucket.behavior = FakeBucket.Behavior.HANGS;
            for (int i = 0; i < WORKERS; i++) {
                add(large("sent " + i));
                int before = i;
                Await.holds(() -> bucket.stores.get() > before);
            }
            for (int i = 0; i < WORKERS; i++) {
                add(large("sent " + i));
            }
            add(small("the queue is not empty"));
            for (int i = 0; i < 10; i++) {
                add(large("queued ten times"));
            }
            add(large("beside it"));
            add(large("and another one"));
            bucket.released.countDown();
            assertTrue(isIdleSoon(queue));
        }
        assertEquals(0, local.loads.get());
        assertEquals(WORKERS + 4, bucket.entries.size());
    }

    @Test
    @DisplayName("a sent entry uses no memory if it is queued again, and an id uses memory once")
    void roomAgain() throws Exception {
        try (queue) {
            bucket.behavior = FakeBucket.Behavior.HANGS;
            for (int i = 0; i < WORKERS; i++) {
                add(small("sent " + i));
            }
            Await.holds(() -> bucket.stores.get() >= WORKERS);
            for (int i = 0; i < 10; i++) {
                addUnstored(large("queued ten times"));
                addUnstored(small("sent " + i % WORKERS));
            }
            addUnstored(large("beside it"));
            addUnstored(large("and another one"));
            bucket.released.countDown();
            assertTrue(isIdleSoon(queue));
            bucket.behavior = FakeBucket.Behavior.WORKS;
            for (int i = 0; i < 10; i++) {
                addUnstored(large("later " + i));
                assertTrue(isIdleSoon(queue));
            }
        }
        assertEquals(WORKERS + 3 + 10, bucket.entries.size());
        assertEquals(0, counters.sum(Counter.STORES_DROPPED));
    }

    @Test
    @DisplayName("beyond the memory limit a pending entry is not dropped, even if the local tier"
            + " did not store it")
    void pendingIsNotDropped() throws Exception {
        try (queue) {
            fillMemory();
            Entry duplicate = large("in memory 1");
            addUnstored(duplicate);
            assertFalse(results.containsKey(duplicate.id()));
            bucket.released.countDown();
            assertTrue(isIdleSoon(queue));
            assertThat(results.get(duplicate.id())).isStored();
            assertEquals(0, counters.sum(Counter.STORES_DROPPED));
        }
    }

    @Test
    @DisplayName("a pending id is not sent again if it is inherited")
    void inheritedWhilePending() throws Exception {
        KeepingUploader uploader = new KeepingUploader();
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                uploader,
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put)) {
            Entry entry = small("left, too");
            queue.add(entry, local.store(entry));
            Await.holds(() -> !uploader.buffered.isEmpty());
            queue.addInherited(entry.id());
            queue.addInherited(entry.id());
            uploader.nextResult = () -> {
                assertEquals(1, uploader.buffered.size());
                return new StoreResult.Stored(1);
            };
            assertTrue(isIdleSoon(queue));
            assertThat(results.get(entry.id())).isStored();
        }
    }

    @Test
    @DisplayName("only the first result of an upload counts; a second one does not affect the next"
            + " upload of that id")
    void answersTwice() throws Exception {
        List<Consumer<StoreResult>> callbacks = new CopyOnWriteArrayList<>();
        EntryUploader twice = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                callbacks.add(whenDone);
                if (callbacks.size() == 1) {
                    whenDone.accept(new StoreResult.Failed("first"));
                }
            }

            @Override
            public void finish() {
                callbacks.getFirst().accept(new StoreResult.Stored(1)); // for the first upload
                callbacks.getLast().accept(new StoreResult.Failed("last"));
            }

            @Override
            public void close() {}
        };
        List<StoreResult> received = new CopyOnWriteArrayList<>();
        try (UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                twice,
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                (_, result) -> received.add(result))) {
            for (int i = 0; i < 2; i++) {
                add(queue, small("answered twice"));
                assertTrue(isIdleSoon(queue));
            }
        }
        assertEquals(
                List.of(new StoreResult.Failed("first"), new StoreResult.Failed("last")), received);
        assertEquals(1, counters.sum(Counter.STORES_DROPPED), "one id");
    }

    /**
     * Uploads one entry to a bucket with that result; returns the number of files left in the
     * outbox.
     */
    private int outboxFilesAfter(Path directory, StoreResult answer, Consumer<UploadQueue> work)
            throws Exception {
        EntryUploader answering = EntryUploader.unpacked(TestTiers.local(new PersistentCache() {
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
            try (UploadQueue queue = new UploadQueue(
                    TestTiers.local(local),
                    answering,
                    Optional.of(outbox),
                    counters,
                    Ticker.SYSTEM,
                    results::put)) {
                work.accept(queue);
                assertTrue(isIdleSoon(queue));
            }
            return new TestNode(directory, bucket)
                    .sessionFiles(UploadOutbox.DIRECTORY)
                    .size();
        }
    }

    @Test
    @DisplayName("the upload leaves the outbox once the bucket has the id; it stays if the"
            + " outcome is unknown")
    void outboxAfterResult(@TempDir Path directory) throws Exception {
        Consumer<UploadQueue> add = queue -> add(queue, small("in the outbox"));
        for (StoreResult success :
                List.of(new StoreResult.Stored(1), StoreResult.DUPLICATE, StoreResult.DIVERGENT)) {
            assertEquals(
                    0,
                    outboxFilesAfter(
                            directory.resolve("a" + success.getClass().getSimpleName()),
                            success,
                            add),
                    success::toString);
        }
        assertEquals(0, counters.sum(Counter.UPLOADS_LEFT));
        for (StoreResult failure : List.of(
                new StoreResult.Failed("no"),
                new StoreResult.Unknown("outcome unknown"),
                new StoreResult.Refused(StoreResult.Scope.STORE, "not now"))) {
            assertEquals(
                    1,
                    outboxFilesAfter(
                            directory.resolve("b" + failure.getClass().getSimpleName()),
                            failure,
                            add),
                    failure::toString);
        }
        assertEquals(3, counters.sum(Counter.UPLOADS_LEFT));
        assertEquals(0, counters.sum(Counter.STORES_DROPPED));
    }

    @Test
    @DisplayName("a lost or damaged entry is reported, counted, and leaves the outbox; an"
            + " unreadable one stays")
    void lostFromLocalTier(@TempDir Path directory) throws Exception {
        Id id = TestEntries.id("lost from the local tier");
        for (FakeBucket.Behavior behavior : List.of(
                FakeBucket.Behavior.WORKS,
                FakeBucket.Behavior.IS_DAMAGED,
                FakeBucket.Behavior.IS_DOWN)) {
            local.behavior = behavior;
            long dropped = counters.sum(Counter.STORES_DROPPED);
            Path own = directory.resolve(behavior.name());
            try (ProcessSession session = ProcessSession.begin(own)) {
                UploadOutbox outbox = new UploadOutbox(session, "s3://test");
                outbox.add(id);
                try (UploadQueue queue = new UploadQueue(
                        TestTiers.local(local),
                        EntryUploader.unpacked(TestTiers.local(bucket)),
                        Optional.of(outbox),
                        counters,
                        Ticker.SYSTEM,
                        results::put)) {
                    queue.addInherited(id);
                    assertTrue(isIdleSoon(queue));
                }
                boolean isLater = behavior == FakeBucket.Behavior.IS_DOWN;
                assertEquals(
                        isLater ? 1 : 0,
                        new TestNode(own, bucket)
                                .sessionFiles(UploadOutbox.DIRECTORY)
                                .size(),
                        behavior::toString);
                assertEquals(
                        isLater ? 0 : 1,
                        counters.sum(Counter.STORES_DROPPED) - dropped,
                        behavior::toString);
                assertEquals(
                        isLater ? 1 : 0, counters.sum(Counter.UPLOADS_LEFT), behavior::toString);
            }
        }
    }

    @Test
    @DisplayName("an entry that is not in the local tier or the outbox is dropped, not left for"
            + " later")
    void notInOutbox(@TempDir Path directory) throws Exception {
        StoreResult failed = new StoreResult.Failed("no");
        assertEquals(
                0,
                outboxFilesAfter(
                        directory.resolve("not in the local tier"),
                        failed,
                        queue -> queue.add(
                                small("not in the local tier"),
                                new StoreResult.Failed("the disk is full"))));
        assertEquals(1, counters.sum(Counter.STORES_DROPPED));
        try (ProcessSession session =
                ProcessSession.begin(directory.resolve("not in the outbox"))) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            Files.delete(outboxDirectory(directory.resolve("not in the outbox")));
            bucket.behavior = FakeBucket.Behavior.IS_DOWN;
            try (UploadQueue queue = new UploadQueue(
                    TestTiers.local(local),
                    EntryUploader.unpacked(TestTiers.local(bucket)),
                    Optional.of(outbox),
                    counters,
                    Ticker.SYSTEM,
                    results::put)) {
                add(queue, small("not in the outbox"));
                assertTrue(isIdleSoon(queue));
            }
        }
        assertEquals(
                List.of(2L, 0L),
                List.of(counters.sum(Counter.STORES_DROPPED), counters.sum(Counter.UPLOADS_LEFT)));
    }

    private static Path outboxDirectory(Path node) throws IOException {
        try (Stream<Path> queue = Files.walk(node)) {
            return queue.filter(path -> path.endsWith(UploadOutbox.DIRECTORY))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    @DisplayName("a buffered entry that is queued again stays in the outbox after a refusal, and"
            + " leaves it when stored")
    void outboxOfBufferedEntry(@TempDir Path directory) throws Exception {
        KeepingUploader uploader = new KeepingUploader();
        try (ProcessSession session = ProcessSession.begin(directory)) {
            UploadOutbox outbox = new UploadOutbox(session, "s3://test");
            for (StoreResult answer : List.of(
                    new StoreResult.Refused(StoreResult.Scope.STORE, "not now"),
                    new StoreResult.Stored(1))) {
                uploader.nextResult = () -> answer;
                try (UploadQueue queue = new UploadQueue(
                        TestTiers.local(local),
                        uploader,
                        Optional.of(outbox),
                        counters,
                        Ticker.SYSTEM,
                        results::put)) {
                    add(queue, small("buffered"));
                    Await.holds(() -> !uploader.buffered.isEmpty());
                    queue.add(small("buffered"), new StoreResult.Failed("the disk is full"));
                    assertTrue(isIdleSoon(queue));
                }
                assertEquals(
                        answer instanceof StoreResult.Stored ? 0 : 1,
                        new TestNode(directory, bucket)
                                .sessionFiles(UploadOutbox.DIRECTORY)
                                .size());
            }
        }
        assertEquals(
                List.of(1L, 0L),
                List.of(counters.sum(Counter.UPLOADS_LEFT), counters.sum(Counter.STORES_DROPPED)));
    }

    @Test
    @DisplayName("a slow uploader is finished once for all waiting threads; close ends the waits at"
            + " once")
    void closedWhileFinishing() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger finishes = new AtomicInteger();
        KeepingUploader uploader = new KeepingUploader();
        EntryUploader slow = new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                uploader.send(entry, whenDone);
            }

            @Override
            public void finish() {
                finishes.incrementAndGet();
                started.countDown();
                boolean done = false;
                while (!done) { // like a request that cannot be interrupted
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
        UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                slow,
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put);
        add(queue, small("buffered"));
        Await.holds(() -> !uploader.buffered.isEmpty());
        FutureTask<Boolean> wait = new FutureTask<>(() -> queue.awaitIdle(Deadline.NONE));
        Thread.ofPlatform().daemon().start(wait);
        started.await();
        assertFalse(queue.awaitIdle(Deadline.after(Duration.ofMillis(20))));
        queue.close();
        assertFalse(
                wait.get(TestNode.LONG.toSeconds(), TimeUnit.SECONDS),
                "the buffered entry has no result");
        released.countDown();
        Await.holds(() -> queue.awaitIdle(Deadline.after(Duration.ZERO)));
        assertEquals(1, finishes.get());
    }

    @Test
    @DisplayName("after close, unstarted uploads are not waited for, and count as dropped without"
            + " an outbox")
    void closedWithQueue() throws Exception {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        for (int i = 0; i < WORKERS + 3; i++) {
            add(small("closed " + i));
        }
        Await.holds(() -> bucket.stores.get() >= WORKERS);
        queue.close();
        assertEquals(WORKERS + 3, counters.sum(Counter.STORES_DROPPED));
        assertEquals(WORKERS + 3, results.size(), "each listener has a result (K5)");
        add(small("after the close"));
        assertEquals(WORKERS + 4, results.size());
        results.values().forEach(result -> assertThat(result).isFailed());
        bucket.released.countDown();
        Await.holds(() -> queue.awaitIdle(Deadline.after(Duration.ZERO)));
        assertEquals(WORKERS, bucket.stores.get());
    }

    @Test
    @DisplayName("If the uploader fails to close, each listener has a result before that")
    void uploaderFailsToClose() {
        UploadQueue queue = new UploadQueue(
                TestTiers.local(local),
                new EntryUploader() {
                    @Override
                    public void send(Entry entry, Consumer<StoreResult> whenDone) {}

                    @Override
                    public void close() {
                        throw new AssertionError("a test");
                    }
                },
                Optional.empty(),
                counters,
                Ticker.SYSTEM,
                results::put);
        add(queue, small("buffered"));
        assertThrows(AssertionError.class, queue::close);
        assertThat(results.get(small("buffered").id())).isFailed();
    }
}
