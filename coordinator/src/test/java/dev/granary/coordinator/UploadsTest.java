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
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    /** Keeps all that it is given, until it is told to finish. */
    private static final class KeepingSender implements Sender {
        final List<Consumer<StoreResult>> kept = new CopyOnWriteArrayList<>();
        volatile Supplier<StoreResult> answer = () -> new StoreResult.Stored(1);
        volatile boolean isSilent;

        @Override
        public void send(Entry entry, Consumer<StoreResult> whenDone) {
            kept.add(whenDone);
        }

        @Override
        public void finish() {
            StoreResult result = answer.get();
            if (!isSilent) {
                kept.forEach(whenDone -> whenDone.accept(result));
            }
            kept.clear();
        }

        @Override
        public void close() {}
    }

    private static Entry small(String name) {
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(new byte[1]));
    }

    @Test
    @DisplayName("A1 B11 an id that the outbox and a caller ask for at once is sent once, and both hear the one answer; the note stays if it failed")
    void oneAnswerForOneId(@TempDir Path directory) throws Exception {
        KeepingSender sender = new KeepingSender();
        Entry entry = small("asked for twice");
        local.store(entry);
        List<StoreResult> heard = new CopyOnWriteArrayList<>();
        TestNode node = new TestNode(directory, bucket);
        try (Session session = Session.begin(directory)) {
            Outbox outbox = new Outbox(session, "s3://test");
            outbox.add(entry.id());
            for (StoreResult answer : List.of(new StoreResult.Failed("the manifest is not committed"), new StoreResult.Stored(1))) {
                heard.clear();
                sender.answer = () -> answer;
                try (Uploads both = new Uploads(new Tier(local), sender, Optional.of(outbox), counters)) {
                    both.addInherited(entry.id());
                    both.add(entry, StoreResult.DUPLICATE, (_, result) -> heard.add(result));
                    both.add(entry, StoreResult.DUPLICATE, (_, result) -> heard.add(result));
                    assertTrue(both.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
                }
                assertEquals(List.of(answer, answer), heard);
                assertEquals(answer instanceof StoreResult.Stored ? 0 : 1, node.sessionFiles(Outbox.DIRECTORY).size());
            }
        }
    }

    @Test
    @DisplayName("A2 B6 the note of an entry that no bucket could ever take goes; of every other refusal it stays")
    void noteOfRefusal(@TempDir Path directory) throws Exception {
        bucket.mood = FakeBucket.Mood.REFUSES_WRITES;
        Entry never = TestEntries.entry(TestEntries.id("too many"), KernelBinaries.of(Collections.nCopies(2000, new byte[1]).toArray(byte[][]::new)));
        try (Session session = Session.begin(directory)) {
            try (Uploads noting = new Uploads(new Tier(local), Sender.alone(new Tier(bucket)), Optional.of(new Outbox(session, "s3://test")), counters)) {
                noting.add(never, StoreResult.DUPLICATE, told::put);
                noting.add(small("later"), StoreResult.DUPLICATE, told::put);
                assertTrue(noting.awaitIdle(System.nanoTime() + TestNode.LONG.toNanos()));
            }
            List<Path> notes = new TestNode(directory, bucket).sessionFiles(Outbox.DIRECTORY);
            assertEquals(1, notes.size());
            assertTrue(notes.getFirst().getFileName().toString().startsWith(small("later").id().hash().hex()));
        }
    }

    @Test
    @DisplayName("S2 A7 an error of a sender, at once or when it finishes, and one that never answers: flush ends, everybody hears it, later uploads work")
    void errors() throws Exception {
        KeepingSender sender = new KeepingSender();
        AtomicReference<Error> thrown = new AtomicReference<>(new OutOfMemoryError("of a test"));
        Sender failing = new Sender() {
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
        try (Uploads all = new Uploads(new Tier(local), failing, Optional.empty(), counters)) {
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
}
