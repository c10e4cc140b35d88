package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Publishing in packs: every listener gets the result of its entry, and no manifest names a missing
 * pack.
 */
class PackPublisherTest {
    private final PackFixture bucket = new PackFixture("PackPublisherTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackPublisherTest");
    private final PackPublisher publisher = bucket.publisher();
    private final List<StoreResult> results = Collections.synchronizedList(new ArrayList<>());

    private List<Entry> some(int count) {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(entries.entry(100 + i));
        }
        return all;
    }

    private void add(List<Entry> all) {
        all.forEach(entry -> assertTrue(publisher.add(entry, results::add)));
    }

    private void assertAllHit(List<Entry> all) {
        PackReader packs = bucket.reader(store);
        all.forEach(entry -> assertThat(packs.load(entry.id(), store)).isFinal().isHitOf(entry));
        packs.close();
    }

    @Test
    @DisplayName(
            "R12 100 entries are one pack: written once, before the manifest that names it; every"
                    + " listener gets the length of its own entry")
    void good() {
        List<Entry> all = some(100);
        add(all);
        assertEquals(List.of(), store.namedRequests());
        assertEquals(List.of(), results);
        publisher.finish();
        assertEquals("PUT pack", store.namedRequests().getFirst());
        assertEquals(12, store.namedRequests().size());
        assertEquals(100, results.size());
        long bytes = results.stream()
                .mapToLong(result -> assertThat(result).isStored())
                .sum();
        PackInfo pack = bucket.newest().packs().getFirst();
        assertEquals(pack.indexOffset() - PackIndex.HEADER_BYTES, bytes);
        assertAllHit(all);
        publisher.finish();
        assertEquals(1, bucket.newest().number());
    }

    @Test
    @DisplayName("the same entry twice is stored once, and both listeners get that result")
    void twice() {
        Entry entry = entries.entry(100);
        add(List.of(entry, entry));
        publisher.finish();
        assertEquals(2, results.size());
        assertThat(results.getFirst()).isStored();
        assertEquals(results.getFirst(), results.getLast());
        assertEquals(1, bucket.newest().entries());
    }

    @Test
    @DisplayName("a full pack is written at once, and another is begun")
    void full() {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            all.add(entries.entry(5 << 20));
        }
        add(all);
        assertEquals(7, results.size());
        publisher.finish();
        assertEquals(9, results.size());
        assertEquals(
                List.of(7, 2),
                bucket.newest().packs().stream().map(PackInfo::entries).toList());
        assertTrue(bucket.newest().packs().getFirst().bytes() < PackBuilder.FULL_BYTES + (6 << 20));
        assertAllHit(all);
    }

    @Test
    @DisplayName(
            "an entry that is too large for a pack is not added, and its listener is not called")
    void tooLarge() {
        assertFalse(publisher.add(entries.entry(PackIndex.MAX_ENTRY_BYTES), results::add));
        publisher.finish();
        assertEquals(List.of(), store.namedRequests());
        assertEquals(List.of(), results);
    }

    @Test
    @DisplayName("an impossible compile time is no error")
    void strangeCompileTimes() {
        EntryMetadata metadata =
                new EntryMetadata("test", "test", Instant.EPOCH, List.of(), List.of(), "");
        List<Entry> all = new ArrayList<>();
        for (Duration time : List.of(
                Duration.ofSeconds(Long.MAX_VALUE),
                Duration.ofSeconds(Long.MIN_VALUE),
                Duration.ZERO)) {
            all.add(Entry.of(entries.id(), entries.entry(10).binaries(), time, metadata));
        }
        add(all);
        publisher.finish();
        assertAllHit(all);
    }

    @Test
    @DisplayName(
            "another process has published the same: a duplicate, and the pack is removed; with"
                    + " one more entry it is not")
    void duplicate() {
        List<Entry> all = some(20);
        Entry more = entries.entry(10);
        add(all);
        publisher.finish();
        results.clear();
        PackPublisher second = bucket.publisher();
        all.forEach(entry -> second.add(entry, results::add));
        second.finish();
        assertEquals(Collections.nCopies(20, StoreResult.DUPLICATE), results);
        assertEquals(1, bucket.packObjects());
        assertEquals(1, bucket.newest().number());
        results.clear();
        all.forEach(entry -> second.add(entry, results::add));
        second.add(more, results::add);
        second.finish();
        assertTrue(
                results.stream().allMatch(StoreResult.Stored.class::isInstance), results::toString);
        assertEquals(2, bucket.packObjects());
        assertAllHit(List.of(more));
    }

    @Test
    @DisplayName(
            "R22 eight publishers of the same entries at once: one pack stays, one reports stored,"
                    + " seven report duplicates, all entries hit")
    void race() throws Exception {
        List<Entry> all = some(20);
        CountDownLatch start = new CountDownLatch(1);
        List<Future<?>> running = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 8; i++) {
                PackPublisher one = bucket.publisher();
                running.add(threads.submit(() -> {
                    start.await();
                    all.forEach(entry -> one.add(entry, results::add));
                    one.finish();
                    return null;
                }));
            }
            start.countDown();
            for (Future<?> each : running) {
                each.get();
            }
        }
        assertEquals(
                20,
                results.stream().filter(StoreResult.Stored.class::isInstance).count());
        assertEquals(
                140,
                results.stream().filter(StoreResult.Duplicate.class::isInstance).count());
        assertEquals(1, bucket.packObjects());
        assertAllHit(all);
    }

    @Test
    @DisplayName(
            "R3 the pack cannot be written: every listener gets the cause, no manifest is changed,"
                    + " and the next pack is another attempt")
    void packNotWritten() {
        for (Fault[] faults : List.of(
                new Fault[] {new Fault.Lost(DENIED)},
                new Fault[] {
                    new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT)
                },
                new Fault[] {
                    new Fault.Conflicting(Fault.Moment.BEFORE),
                    new Fault.Conflicting(Fault.Moment.BEFORE),
                    new Fault.Conflicting(Fault.Moment.BEFORE)
                })) {
            results.clear();
            store.script(faults);
            List<Entry> all = some(5);
            add(all);
            publisher.finish();
            assertEquals(5, results.size());
            results.forEach(result ->
                    assertTrue(assertThat(result).isFailed().contains("pack"), result::toString));
            assertEquals(List.of(), store.keys());
        }
        results.clear();
        List<Entry> all = some(5);
        add(all);
        publisher.finish();
        results.forEach(result -> assertThat(result).isStored());
        assertAllHit(all);
    }

    @Test
    @DisplayName("R13 the responses to the pack are lost, or two requests for it conflict: stored")
    void packResponseLost() {
        for (Fault[] faults : List.of(
                new Fault[] {new Fault.AnswerLost(TIMEOUT)},
                new Fault[] {new Fault.Lost(TIMEOUT), new Fault.AnswerLost(TIMEOUT)},
                new Fault[] {
                    new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.AnswerLost(TIMEOUT)
                },
                new Fault[] {
                    new Fault.Conflicting(Fault.Moment.BEFORE),
                    new Fault.AnswerLost(TIMEOUT),
                    new Fault.Conflicting(Fault.Moment.BEFORE)
                })) {
            results.clear();
            store.keys().forEach(store::remove);
            List<Entry> all = some(5);
            store.script(faults);
            add(all);
            publisher.finish();
            results.forEach(result -> assertThat(result).isStored());
            assertAllHit(all);
        }
    }

    @Test
    @DisplayName(
            "the manifest cannot be committed: every listener gets the cause, and the pack is not"
                    + " named")
    void notCommitted() {
        add(some(5));
        store.script(new Fault.None(), new Fault.None(), new Fault.Lost(DENIED));
        publisher.finish();
        assertEquals(5, results.size());
        results.forEach(result ->
                assertTrue(assertThat(result).isFailed().contains("manifest"), result::toString));
        assertEquals(1, bucket.packObjects());
        assertEquals(List.of(), bucket.newest().packs());
    }

    @Test
    @DisplayName("R13 the outcome of the commit is unknown: every listener gets that, and the pack"
            + " stays")
    void unknownCommit() {
        List<Entry> all = some(5);
        add(all);
        Fault none = new Fault.None();
        Fault lost = new Fault.AnswerLost(TIMEOUT);
        store.script(none, none, none, none, none, none, none, lost, lost, lost, lost);
        publisher.finish();
        assertEquals(5, results.size());
        results.forEach(result -> assertThat(result).isUnknown());
        assertAllHit(all);
    }

    @Test
    @DisplayName("R13 the response to the commit was lost and its second attempt conflicts with it:"
            + " stored, and the pack is not taken for a duplicate")
    void conflictWithMyself() {
        List<Entry> all = some(5);
        add(all);
        Fault none = new Fault.None();
        store.script(
                none,
                none,
                none,
                none,
                none,
                none,
                none,
                new Fault.AnswerLost(TIMEOUT),
                new Fault.Conflicting(Fault.Moment.BEFORE));
        publisher.finish();
        results.forEach(result -> assertThat(result).isStored());
        assertEquals(1, bucket.packObjects());
        assertAllHit(all);
    }

    @Test
    @DisplayName("R18 the packs that had the entries are gone: published again, not reported as"
            + " duplicates")
    void lostPacks() {
        List<Entry> all = some(5);
        bucket.remove(bucket.publish(all.toArray(Entry[]::new)));
        add(all);
        publisher.finish();
        results.forEach(result -> assertThat(result).isStored());
        assertAllHit(all);
    }

    @Test
    @DisplayName(
            "A3 the presence of the pack with the entries is unknown: no duplicates, another pack"
                    + " is written")
    void silentPackOfOthers() {
        List<Entry> all = some(3);
        PackInfo pack = bucket.publish(bucket.pack(all));
        store.plan(FaultPlan.when(
                request -> request.operation().equals("HEAD")
                        && request.key().contains(pack.name().hex()),
                new Fault.Lost(TIMEOUT)));
        PackFixture.publish(publisher, all).forEach(result -> assertThat(result).isStored());
        assertEquals(2, bucket.newest().packs().size());
    }

    @Test
    @DisplayName(
            "A1 the presence of the new pack is unknown after its commit: unknown, and no success;"
                    + " other packs are not requested")
    void silentNewPack() {
        bucket.publish(bucket.pack(some(2)));
        bucket.publish(bucket.pack(some(2)));
        store.newRequests();
        PackFixture.publish(publisher, some(2))
                .forEach(result -> assertThat(result).isStored());
        assertEquals(2, store.newRequests().stream().filter("HEAD pack"::equals).count());
        AtomicInteger heads = new AtomicInteger();
        store.plan(FaultPlan.when(
                request -> request.operation().equals("HEAD")
                        && request.key().endsWith(".pack")
                        && heads.incrementAndGet() > 1,
                new Fault.Lost(TIMEOUT)));
        PackFixture.publish(publisher, some(2))
                .forEach(result -> assertThat(result).isUnknown());
        assertEquals(4, bucket.newest().number());
    }

    @Test
    @DisplayName(
            "A1 the presence of the new pack is unknown before its commit: failed, and no manifest"
                    + " names it")
    void silentNewPackBeforeCommit() {
        store.plan(FaultPlan.when(
                request -> request.operation().equals("HEAD") && request.key().endsWith(".pack"),
                new Fault.Lost(TIMEOUT)));
        PackFixture.publish(publisher, some(2))
                .forEach(result -> assertThat(result).isFailed());
        store.plan(FaultPlan.SOUND);
        assertEquals(0, bucket.newest().number());
    }

    @Test
    @DisplayName(
            "B9 a publisher is suspended before its commit, and its pack is removed: written anew,"
                    + " and the removed one is never named")
    void suspendedBeforeCommit() {
        AtomicBoolean once = new AtomicBoolean();
        PackPublisher suspended = bucket.publisher(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                    store.pass(BucketRemover.ORPHAN_AGE);
                    assertEquals(
                            1,
                            new BucketRemover(store, PackFixture.KEYS, bucket.log())
                                    .removeUnused(bucket.unnamedPacks(), List.of()));
                }
                WriteResult result = super.putIfAbsent(key, body, marks);
                assertEquals(
                        List.of(),
                        bucket.newest().packs().stream()
                                .filter(pack ->
                                        !store.keys().contains(PackFixture.KEYS.pack(pack.name())))
                                .toList());
                return result;
            }
        });
        List<Entry> all = some(3);
        PackFixture.publish(suspended, all).forEach(result -> assertThat(result).isStored());
        assertTrue(once.get());
        assertAllHit(all);
    }

    @Test
    @DisplayName("R2 the server reports that a new pack exists, and it is missing or truncated: a"
            + " failure, and no manifest names it")
    void reportedAsThere() {
        for (boolean isCut : List.of(true, false)) {
            PackPublisher reported = bucket.publisher(new ForwardingStore(store) {
                @Override
                public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                    if (!key.endsWith(".pack")) {
                        return super.putIfAbsent(key, body, marks);
                    }
                    if (isCut) {
                        store.place(key, Arrays.copyOf(body, body.length - 1), marks);
                    }
                    return WriteResult.PRECONDITION_FAILED;
                }
            });
            PackFixture.publish(reported, some(2))
                    .forEach(result -> assertTrue(
                            assertThat(result).isFailed().contains("reports that the pack exists"),
                            result::toString));
            assertTrue(store.keys().stream().noneMatch(PackFixture.KEYS.manifest(1)::equals));
        }
    }

    @Test
    @DisplayName(
            "A7 a store that breaks its contract: every listener gets the failure, and no caller"
                    + " waits")
    void brokenStore() {
        PackPublisher broken = bucket.publisher(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                throw new IllegalStateException("of a test");
            }
        });
        some(2).forEach(entry -> assertTrue(broken.add(entry, results::add)));
        assertThrows(IllegalStateException.class, broken::finish);
        assertEquals(
                2, results.stream().filter(StoreResult.Failed.class::isInstance).count());
    }

    @Test
    @DisplayName(
            "B9 a pack that was named too late is silent when another one is written in its place:"
                    + " both stay named")
    void silentLatePack() {
        AtomicInteger packsWritten = new AtomicInteger();
        AtomicInteger commits = new AtomicInteger();
        PackPublisher late = bucket.publisher(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && commits.incrementAndGet() == 1) {
                    store.pass(BucketRemover.LONGEST_COMMIT.plusHours(1));
                }
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (key.endsWith(".pack") && packsWritten.incrementAndGet() == 2) {
                    String first = bucket.newest().packs().getFirst().name().hex();
                    store.plan(FaultPlan.when(
                            request -> request.operation().equals("HEAD")
                                    && request.key().contains(first),
                            new Fault.Lost(TIMEOUT)));
                }
                return result;
            }
        });
        PackFixture.publish(late, some(2)).forEach(result -> assertThat(result).isStored());
        assertEquals(2, bucket.newest().packs().size());
    }

    @Test
    @DisplayName("B2 B9 without s3:ListBucket a new pack is removed just after its commit: written"
            + " again")
    void removedAfterCommit() {
        AtomicInteger commits = new AtomicInteger();
        PackPublisher limited = bucket.publisher(new WithoutListing(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (key.contains("/m/0") && commits.incrementAndGet() == 1) {
                    store.keys().stream()
                            .filter(name -> name.endsWith(".pack"))
                            .forEach(store::remove);
                }
                return result;
            }
        }));
        List<Entry> all = some(2);
        PackFixture.publish(limited, all).forEach(result -> assertThat(result).isStored());
        assertEquals(1, bucket.newest().packs().size());
        assertAllHit(all);
    }
}
