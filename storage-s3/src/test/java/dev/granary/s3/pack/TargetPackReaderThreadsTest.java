package dev.granary.s3.pack;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.format.PackInfo;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Lookups by many threads at once: shared objects are read once. */
class TargetPackReaderThreadsTest {
    private static final int THREADS = 32;

    private final PackFixture bucket = new PackFixture("TargetPackReaderThreadsTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("TargetPackReaderThreadsTest");
    private final PackLookupDriver machine = new PackLookupDriver(
            store,
            new PackReader(
                    store,
                    bucket.settings(Optional.empty()),
                    new RefreshSchedule(
                            Duration.ofMinutes(1),
                            Duration.ofMinutes(1),
                            () -> 0,
                            () -> 0,
                            bucket.random()),
                    Runnable::run));
    private final CyclicBarrier together = new CyclicBarrier(THREADS);

    private void meet() {
        try {
            together.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new AssertionError("A thread did not come", e);
        }
    }

    /** Returns the result of each thread; all begin at once. */
    private List<LoadResult> loadAll(List<Entry> wanted) throws Exception {
        List<Future<LoadResult>> answers = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < THREADS; i++) {
                Entry entry = wanted.get(i % wanted.size());
                answers.add(threads.submit(() -> {
                    meet();
                    return machine.load(entry);
                }));
            }
            List<LoadResult> all = new ArrayList<>();
            for (Future<LoadResult> answer : answers) {
                all.add(answer.get());
            }
            return all;
        }
    }

    @Test
    @DisplayName("32 threads at the first lookup: the head and each index are read once, then"
            + " each entry")
    void firstLookup() throws Exception {
        List<Entry> all =
                List.of(entries.entry(10), entries.entry(20), entries.entry(30), entries.entry(40));
        bucket.publish(all.get(0), all.get(1));
        bucket.publish(all.get(2), all.get(3));
        store.newRequests();
        for (LoadResult answer : loadAll(all)) {
            assertThat(answer).isHit();
        }
        List<String> requests = store.newRequests();
        assertEquals("GET head", requests.getFirst());
        assertEquals(
                Collections.nCopies(2 + THREADS, "RANGE pack"),
                requests.subList(1, requests.size()));
    }

    @Test
    @DisplayName("32 threads find the same pack missing at once: the head is read again once")
    void oneRefresh() throws Exception {
        Entry entry = entries.entry(10);
        PackInfo gone = bucket.publish(entry);
        assertThat(machine.load(entry)).isHit();
        bucket.remove(gone);
        store.newRequests();
        AtomicInteger first = new AtomicInteger();
        store.beforeEach(() -> {
            if (first.incrementAndGet() <= THREADS) {
                meet();
            }
        });
        loadAll(List.of(entry)).forEach(answer -> assertThat(answer).isAbsent());
        List<String> expected = new ArrayList<>(Collections.nCopies(THREADS, "GET entry"));
        expected.add("GET head");
        expected.addAll(Collections.nCopies(THREADS, "RANGE pack"));
        assertEquals(expected, store.newRequests().stream().sorted().toList());
    }

    @Test
    @DisplayName("packs come and go during lookups by 32 threads: hits have the right bytes, all"
            + " else is a miss")
    void comingAndGoing() throws Exception {
        List<Entry> all =
                List.of(entries.entry(10), entries.entry(20), entries.entry(30), entries.entry(40));
        for (int round = 0; round < 50; round++) {
            PackInfo pack = bucket.publish(all.toArray(Entry[]::new));
            if (round % 3 == 0) {
                bucket.remove(pack);
            } else if (round % 3 == 1) {
                store.place(PackFixture.KEYS.pack(pack.name()), entries.bytes(100));
            }
            List<LoadResult> answers = loadAll(all);
            for (int i = 0; i < THREADS; i++) {
                if (answers.get(i) instanceof LoadResult.Hit hit) {
                    assertThat(hit).isHitOf(all.get(i % all.size()));
                }
            }
        }
        try (PackLookupDriver fresh = new PackLookupDriver(bucket)) {
            assertThat(fresh.load(all.getFirst())).isHitOf(all.getFirst());
        }
    }
}
