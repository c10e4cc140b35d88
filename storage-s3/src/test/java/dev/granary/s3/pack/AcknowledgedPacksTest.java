package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.listing.ListedEntrySet;
import dev.granary.s3.pack.listing.PackListing;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * After a store was acknowledged, a machine that has read nothing yet finds the entry, whatever
 * servers, proxies and lifecycle rules do.
 */
class AcknowledgedPacksTest {
    private static final Duration GRACE = Duration.ofDays(1);

    private final PackFixture bucket = new PackFixture("AcknowledgedPacksTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries made = new TestEntries("AcknowledgedPacksTest");

    @TempDir
    private Path indexDirectory;

    private List<Entry> some(int count) {
        return Stream.generate(() -> made.entry(500)).limit(count).toList();
    }

    private List<StoreResult> populate(ObjectStore over, List<Entry> all) {
        return PackFixture.publish(bucket.publisher(over), all);
    }

    private static void assertStored(List<StoreResult> results) {
        results.forEach(result -> assertThat(result).isStored());
    }

    private void assertFound(List<Entry> all) {
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
        }
    }

    private static CompactionPlan plan(PackCompactor compaction) {
        PackCompactor.Planned planned = compaction.plan(GRACE);
        return assertThat(planned).isReady();
    }

    private PackCompactor.Result compact() {
        PackCompactor compaction = bucket.compaction();
        return compaction.run(plan(compaction), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
    }

    /** Compacts twice, each time long after the packs of before have become removable. */
    private void compactTwice() {
        for (int i = 0; i < 2; i++) {
            store.pass(GRACE.multipliedBy(2));
            compact();
        }
    }

    private PackPublisher publisherWithCache(PackIndexCache indexCache) {
        return new PackPublisher(store, PackFixture.KEYS, indexCache, bucket.random(), _ -> {});
    }

    @Test
    @DisplayName(
            "A3 B1 a pack that a lifecycle rule removed is published again, although its index is"
                    + " still cached on disk")
    void lifecycleRemovedPack() {
        PackIndexCache indexCache = bucket.indexCache(indexDirectory);
        List<Entry> all = some(5);
        assertStored(PackFixture.publish(publisherWithCache(indexCache), all));
        PackInfo pack = bucket.newest().packs().getFirst();
        assertInstanceOf(
                PackIndexReader.IndexResult.Ok.class,
                PackIndexReader.read(pack, PackFixture.KEYS, indexCache, store));
        assertEquals(
                5,
                PackFixture.publish(publisherWithCache(indexCache), all).stream()
                        .filter(StoreResult.Duplicate.class::isInstance)
                        .count());
        bucket.remove(pack);
        assertStored(PackFixture.publish(publisherWithCache(indexCache), all));
        assertFound(all);
    }

    @Test
    @DisplayName("A3 B1 a compaction detects that a named pack is gone, although its index is still"
            + " cached on disk")
    void lifecycleRemovedPackAndCompaction() {
        PackIndexCache indexCache = bucket.indexCache(indexDirectory);
        List<Entry> all = some(5);
        PackInfo pack = bucket.publish(bucket.pack(all));
        assertInstanceOf(
                PackIndexReader.IndexResult.Ok.class,
                PackIndexReader.read(pack, PackFixture.KEYS, indexCache, store));
        PackCompactor compaction = new PackCompactor(
                store,
                PackFixture.KEYS,
                indexCache,
                bucket.log(),
                new PackWriter(store, bucket.random(), _ -> {}),
                bucket.random());
        assertEquals(0, plan(compaction).lost());
        all.forEach(bucket::placeUnpacked);
        bucket.remove(pack);
        store.pass(GRACE);
        assertEquals(
                List.of(1L, 5L, 0L),
                List.of(
                        plan(compaction).lost(),
                        plan(compaction).folded(),
                        plan(compaction).removed()));
        assertThat(compaction.run(plan(compaction), PackManifest.UnpackedEntries.NONE, _ -> {}))
                .isDone();
        assertFound(all);
    }

    @Test
    @DisplayName("B1 a listing for people omits the entries of a pack that is gone")
    void lifecycleRemovedPackAndListing() throws Exception {
        PackIndexCache indexCache = bucket.indexCache(indexDirectory);
        List<Entry> all = some(3);
        PackInfo pack = bucket.publish(bucket.pack(all));
        List<Object> listed = new ArrayList<>();
        new PackListing(store, PackFixture.KEYS, indexCache, bucket.log())
                .list(new ListedEntrySet(), Map.of(), listed::add);
        assertEquals(3, listed.size());
        bucket.remove(pack);
        listed.clear();
        new PackListing(store, PackFixture.KEYS, indexCache, bucket.log())
                .list(new ListedEntrySet(), Map.of(), listed::add);
        assertEquals(List.of(), listed);
    }

    @Test
    @DisplayName(
            "B2 without s3:ListBucket, where absent is 403: packs are published and found, also by"
                    + " warming")
    void withoutListing() {
        ObjectStore limited = new WithoutListing(store);
        List<Entry> first = some(3);
        List<Entry> second = some(2);
        assertStored(populate(limited, first));
        assertStored(populate(limited, second));
        assertFound(first);
        PackManifestLog.Newest newest = bucket.log(limited).newest(PackManifest.NONE);
        assertEquals(2, assertThat(newest).isFound().packs().size());
        assertEquals(
                2,
                assertThat(bucket.log(limited).newest(bucket.newest()))
                        .isFound()
                        .number());
        PackReader packs = bucket.reader(limited);
        for (Entry entry : Stream.concat(first.stream(), second.stream()).toList()) {
            assertThat(packs.load(entry.id(), limited)).isFinal().isHit();
        }
        packs.close();
    }

    @Test
    @DisplayName(
            "B2 without s3:ListBucket a missing pack is lost: entries of a younger pack are found,"
                    + " and populate restores the rest")
    void withoutListingAndLostPack() {
        ObjectStore limited = new WithoutListing(store);
        List<Entry> all = some(3);
        assertStored(populate(limited, all));
        PackReader packs = bucket.reader(limited);
        assertThat(packs.load(all.getFirst().id(), limited)).isFinal().isHit();
        bucket.remove(bucket.newest().packs().getFirst());
        assertStored(populate(limited, all));
        for (Entry entry : all) {
            assertThat(packs.load(entry.id(), limited)).isFinal().isHit();
        }
        packs.close();
    }

    @Test
    @DisplayName(
            "B2 without read access 403 is no absence: lookups are unavailable, and writers fail"
                    + " with the cause")
    void forbidden() {
        List<Entry> stored = some(2);
        assertStored(populate(store, stored));
        PackReader packs = new PackReader(
                store,
                bucket.settings(Optional.empty()),
                Duration.ofMinutes(1),
                Duration.ofSeconds(5),
                () -> 0);
        assertThat(packs.load(stored.getFirst().id(), store)).isFinal().isHit();
        StoreFailure no =
                new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");
        store.plan(FaultPlan.when(
                request -> request.operation().startsWith("GET")
                        || request.operation().equals("HEAD"),
                new Fault.Lost(no)));
        assertThat(bucket.log().newest(PackManifest.NONE)).isUnavailable();
        assertThat(packs.load(stored.getFirst().id(), store)).isFinal().isUnavailable();
        populate(store, some(2))
                .forEach(result -> assertTrue(
                        assertThat(result).isFailed().contains("AccessDenied"), result::toString));
        store.plan(FaultPlan.SOUND);
        assertEquals(1, bucket.newest().number());
        // the pack was never taken for a lost one
        assertThat(packs.load(stored.getFirst().id(), store)).isFinal().isHit();
        packs.close();
    }

    @Test
    @DisplayName(
            "B3 409 to a manifest that has landed, because a proxy sent it twice: stored, and the"
                    + " committed pack stays")
    void conflictAfterLanding() {
        AtomicBoolean once = new AtomicBoolean();
        ObjectStore twice = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult result = super.putIfAbsent(key, body, marks);
                return key.contains("/m/0") && once.compareAndSet(false, true)
                        ? WriteResult.CONFLICT
                        : result;
            }
        };
        List<Entry> all = some(3);
        assertStored(populate(twice, all));
        assertEquals(
                List.of(1L, 1),
                List.of(bucket.packObjects(), bucket.newest().packs().size()));
        assertFound(all);
    }

    @Test
    @DisplayName(
            "B3 409 to a manifest that lands a moment later: stored, and the committed pack stays")
    void conflictBeforeLanding() {
        List<Runnable> late = new ArrayList<>();
        ObjectStore slow = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && late.isEmpty()) {
                    late.add(() -> store.putIfAbsent(key, body, marks));
                    return WriteResult.CONFLICT;
                }
                return super.putIfAbsent(key, body, marks);
            }

            @Override
            public HeadResult head(String key) {
                HeadResult result = super.head(key);
                // the next pass finds it
                if (late.size() == 1 && key.endsWith("m/0000000000000001")) {
                    late.getFirst().run();
                    late.add(() -> {});
                }
                return result;
            }
        };
        List<Entry> all = some(3);
        assertStored(populate(slow, all));
        assertEquals(1, bucket.packObjects());
        assertFound(all);
    }

    /** One wrong response to a read of manifest 2. */
    private ObjectStore badOnce(UnaryOperator<GetResult> bad) {
        AtomicBoolean once = new AtomicBoolean();
        return new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                GetResult result = super.get(key, limit);
                return key.endsWith("m/0000000000000002") && once.compareAndSet(false, true)
                        ? bad.apply(result)
                        : result;
            }
        };
    }

    private static GetResult truncated(GetResult result) {
        return result instanceof GetResult.Found found
                ? new GetResult.Found(
                        found.bytes().asSlice(0, found.bytes().byteSize() - 1),
                        found.etag(),
                        found.dates(),
                        found.marks())
                : result;
    }

    @Test
    @DisplayName(
            "B4 one wrong response to a committer's read of the newest manifest, truncated or 404:"
                    + " no committed pack loses its name")
    void oneBadAnswer() {
        for (UnaryOperator<GetResult> bad : List.<UnaryOperator<GetResult>>of(
                AcknowledgedPacksTest::truncated, _ -> GetResult.ABSENT)) {
            store.keys().forEach(store::remove);
            List<Entry> acknowledged = some(4);
            assertStored(populate(store, acknowledged.subList(0, 2)));
            assertStored(populate(store, acknowledged.subList(2, 4)));
            assertStored(populate(badOnce(bad), some(2)));
            assertEquals(3, bucket.newest().packs().size());
            assertFound(acknowledged);
            compactTwice();
            assertFound(acknowledged);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("B4 the newest manifest exists, but all responses to reads of it are wrong: a"
            + " committer fails and uses no older one")
    void alwaysBadAnswer(boolean isAbsent) {
        List<Entry> acknowledged = some(4);
        assertStored(populate(store, acknowledged.subList(0, 2)));
        assertStored(populate(store, acknowledged.subList(2, 4)));
        ObjectStore bad = new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                GetResult result = super.get(key, limit);
                return !key.endsWith("m/0000000000000002")
                        ? result
                        : isAbsent ? GetResult.ABSENT : truncated(result);
            }
        };
        populate(bad, some(2))
                .forEach(result -> assertTrue(
                        assertThat(result).isFailed().contains("m/0000000000000002"),
                        result::toString));
        assertEquals(2, bucket.newest().number());
        store.pass(GRACE.multipliedBy(2));
        PackCompactor.Planned planned = bucket.compaction(bad).plan(GRACE);
        assertThat(planned).isUnavailable();
        assertFound(acknowledged);
    }

    private ObjectStore createOnly() {
        return new ForwardingStore(store) {
            @Override
            public WriteResult replaceIfMatch(
                    String key, String etag, byte[] body, ObjectMarks marks) {
                return WriteResult.failed(new StoreFailure(
                        StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "no If-Match"));
            }
        };
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "B5 FULL and CREATE_ONLY: a lifecycle rule removes the oldest manifest and its pack:"
                    + " younger entries and later commits are found")
    void oldestExpires(boolean isFull) {
        ObjectStore server = isFull ? store : createOnly();
        List<List<Entry>> batches = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            batches.add(some(2));
            assertStored(populate(server, batches.getLast()));
        }
        assertEquals(
                "5",
                new String(store.body(PackFixture.KEYS.hint()), US_ASCII),
                "a hint that is never written expires");
        bucket.remove(bucket.newest().packs().getFirst());
        store.remove(PackFixture.KEYS.manifest(1));
        List<Entry> young = batches.subList(1, 5).stream().flatMap(List::stream).toList();
        assertFound(young);
        List<Entry> more = some(2);
        assertStored(populate(server, more));
        List<Entry> again = some(2);
        assertStored(populate(server, again));
        assertEquals(7, bucket.newest().number());
        assertFound(young);
        assertFound(more);
        assertFound(again);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1", "4711", ""})
    @DisplayName("B5 a hint that was never advanced, or names a missing manifest, before a chain"
            + " without its first manifests: a listing finds the newest")
    void strayHint(String hint) {
        List<List<Entry>> batches = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            batches.add(some(2));
            assertStored(populate(store, batches.getLast()));
        }
        store.remove(PackFixture.KEYS.manifest(1));
        store.remove(PackFixture.KEYS.manifest(2));
        if (hint.isEmpty()) {
            store.remove(PackFixture.KEYS.hint());
        } else {
            store.place(PackFixture.KEYS.hint(), hint.getBytes(US_ASCII), ObjectMarks.NONE);
        }
        List<Entry> more = some(2);
        assertStored(populate(store, more));
        assertEquals(
                hint.equals("4711") ? 4712 : 6,
                bucket.newest().number(),
                "numbers do not come again");
        batches.forEach(this::assertFound);
        assertFound(more);
    }

    private void assertHint(String expected) {
        assertEquals(expected, new String(store.body(PackFixture.KEYS.hint()), US_ASCII));
    }

    @Test
    @DisplayName(
            "B5 the hint names a missing manifest, and a publisher finds only duplicates: the hint"
                    + " is repaired before they are reported")
    void hintRepairedWithDuplicates() {
        List<Entry> all = some(3);
        assertStored(populate(store, all));
        store.place(PackFixture.KEYS.hint(), "2".getBytes(US_ASCII), ObjectMarks.NONE);
        populate(store, all).forEach(result -> assertThat(result).isDuplicate());
        assertHint("1");
    }

    @Test
    @DisplayName("B5 a compaction without any changes repairs the hint, too")
    void hintRepairedByCompaction() {
        assertStored(populate(store, some(3)));
        store.place(PackFixture.KEYS.hint(), "2".getBytes(US_ASCII), ObjectMarks.NONE);
        assertThat(compact()).isDone();
        assertHint("1");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "B5 the request that advances the hint fails once: sent again, whether it had landed"
                    + " or not")
    void hintAdvancedDespiteFaults(boolean isLanded) {
        assertStored(populate(store, some(2)));
        AtomicBoolean once = new AtomicBoolean();
        store.plan(request -> request.operation().startsWith("PUT match")
                        && once.compareAndSet(false, true)
                ? isLanded ? new Fault.AnswerLost(Fault.ERROR_500) : new Fault.Lost(Fault.ERROR_500)
                : new Fault.None());
        assertStored(populate(store, some(2)));
        assertTrue(once.get());
        assertHint("2");
    }

    @Test
    @DisplayName("B5 the hint expires just before the last attempt to advance it: no success")
    void hintExpiresWhileAdvanced() {
        assertStored(populate(store, some(2)));
        AtomicInteger attempts = new AtomicInteger();
        ObjectStore expiring = new ForwardingStore(store) {
            @Override
            public WriteResult replaceIfMatch(
                    String key, String etag, byte[] body, ObjectMarks marks) {
                if (attempts.incrementAndGet() < 3) {
                    return WriteResult.failed(Fault.DENIED);
                }
                store.remove(PackFixture.KEYS.hint());
                return super.replaceIfMatch(key, etag, body, marks);
            }
        };
        populate(expiring, some(2)).forEach(result -> assertThat(result).isUnknown());
        assertEquals(3, attempts.get());
    }

    @Test
    @DisplayName(
            "B5 B7 a manifest in the middle is gone: a process that knows an earlier one follows"
                    + " the hint over the gap")
    void gapInTheChain() {
        Entry wanted = made.entry(500);
        bucket.publish(made.entry(500));
        PackManifest known = bucket.newest();
        bucket.publish(made.entry(500));
        bucket.publish(wanted);
        store.remove(PackFixture.KEYS.manifest(2));
        PackManifestLog.Newest newest = bucket.log().newest(known);
        assertEquals(3, assertThat(newest).isFound().number());
    }

    /** One minute between comparisons of the manifest, by those clocks. */
    private RefreshSchedule schedule(LongSupplier nanos, LongSupplier wallMillis) {
        return new RefreshSchedule(
                Duration.ofMinutes(1), Duration.ofSeconds(5), nanos, wallMillis, bucket.random());
    }

    private PackReader packsWithoutCache(RefreshSchedule schedule, Executor background) {
        return new PackReader(store, bucket.settings(Optional.empty()), schedule, background);
    }

    private PackReader packsWithCache(RefreshSchedule schedule) {
        return new PackReader(
                store, bucket.settings(Optional.of(indexDirectory)), schedule, _ -> {});
    }

    @Test
    @DisplayName(
            "B7 one wrong response, and hours later another lookup: the pack is requested again"
                    + " before absence is reported")
    void badAnswerLongAgo() {
        Entry wanted = made.entry(500);
        bucket.publish(wanted);
        AtomicLong nanos = new AtomicLong();
        PackReader packs = packsWithoutCache(schedule(nanos::get, () -> 0), _ -> {});
        assertThat(packs.load(wanted.id(), store)).isFinal().isHit();
        ObjectStore cutting = new ForwardingStore(store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return truncated(super.range(key, offset, length, into));
            }
        };
        assertThat(packs.load(wanted.id(), cutting)).isOpen().isDamaged();
        nanos.addAndGet(Duration.ofMinutes(24).toNanos());
        assertThat(packs.load(wanted.id(), store)).isFinal().isHit();
        packs.close();
    }

    @Test
    @DisplayName("B7 a process that was idle for two days confirms the manifest before it reports"
            + " absence")
    void idleForDays() {
        Entry other = made.entry(500);
        Entry wanted = made.entry(500);
        bucket.publish(other);
        bucket.placeUnpacked(wanted);
        AtomicLong nanos = new AtomicLong();
        List<Runnable> background = new ArrayList<>();
        PackReader packs = packsWithoutCache(schedule(nanos::get, () -> 0), background::add);
        assertThat(packs.load(other.id(), store)).isFinal().isHit();
        compact();
        store.pass(GRACE.multipliedBy(2));
        compact();
        assertTrue(store.keys().stream().noneMatch(PackFixture.unpackedKey(wanted)::equals));
        nanos.addAndGet(GRACE.multipliedBy(2).toNanos());
        assertThat(packs.load(wanted.id(), store)).isFinal().isHit();
        packs.close();
    }

    @Test
    @DisplayName(
            "B7 a machine whose monotonic clock stopped during sleep confirms the manifest, too:"
                    + " the wall clock shows the time")
    void suspendedForDays() {
        Entry other = made.entry(500);
        Entry wanted = made.entry(500);
        bucket.publish(other);
        AtomicLong wall = new AtomicLong();
        PackReader packs = packsWithoutCache(schedule(() -> 0, wall::get), _ -> {});
        assertThat(packs.load(other.id(), store)).isFinal().isHit();
        bucket.publish(wanted);
        assertThat(packs.load(wanted.id(), store)).isOpen().isAbsent();
        wall.addAndGet(GRACE.toMillis());
        assertThat(packs.load(wanted.id(), store)).isFinal().isHit();
        packs.close();
    }

    @Test
    @DisplayName(
            "B7 a process with an index cache of days ago confirms the manifest before it reports"
                    + " absence; with a fresh one it sends no request")
    void oldIndexCache() throws Exception {
        Entry other = made.entry(500);
        Entry wanted = made.entry(500);
        bucket.publish(other);
        long now = System.currentTimeMillis();
        AtomicLong wall = new AtomicLong(now);
        RefreshSchedule schedule = schedule(() -> 0, wall::get);
        try (PackReader before = packsWithCache(schedule)) {
            assertThat(before.load(other.id(), store)).isFinal().isHit();
        }
        try (PackReader fresh = packsWithCache(schedule)) {
            store.newRequests();
            assertThat(fresh.load(wanted.id(), store)).isOpen().isAbsent();
            assertEquals(List.of(), store.newRequests());
        }
        bucket.publish(wanted);
        // a clock that was set back proves nothing
        for (Duration off : List.of(GRACE, GRACE.negated())) {
            wall.set(now + off.toMillis());
            try (PackReader after = packsWithCache(schedule)) {
                Path retained = indexDirectory.resolve(PackFixture.NAMESPACE).resolve("manifest");
                Files.write(retained, manifestOne());
                Files.setLastModifiedTime(retained, FileTime.fromMillis(now));
                assertThat(after.load(wanted.id(), store)).isFinal().isHit();
            }
        }
    }

    private byte[] manifestOne() {
        return store.body(PackFixture.KEYS.manifest(1));
    }

    @Test
    @DisplayName(
            "B7 the bucket is silent when an old manifest is to be confirmed: requested once in"
                    + " five seconds, not by every lookup, and no absence is reported")
    void silentConfirmation() {
        Entry other = made.entry(500);
        bucket.publish(other);
        AtomicLong nanos = new AtomicLong();
        PackReader packs = packsWithoutCache(schedule(nanos::get, () -> 0), _ -> {});
        assertThat(packs.load(other.id(), store)).isFinal().isHit();
        nanos.addAndGet(GRACE.toNanos());
        store.plan(FaultPlan.when(_ -> true, new Fault.Lost(Fault.TIMEOUT)));
        store.newRequests();
        for (int i = 0; i < 10; i++) {
            assertThat(packs.load(made.id(), store)).isOpen().isUnavailable();
        }
        assertEquals(1, store.newRequests().size());
        packs.close();
    }

    /**
     * A writer that is suspended for 25 hours at the request that {@code when} selects, while
     * others compact.
     */
    private ObjectStore suspendedAt(Predicate<String> when) {
        AtomicBoolean once = new AtomicBoolean();
        return new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (when.test(key) && once.compareAndSet(false, true)) {
                    store.pass(Duration.ofHours(25));
                    compact();
                }
                return super.putIfAbsent(key, body, marks);
            }
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"/m/0", "/m/newest"})
    @DisplayName(
            "B9 a writer that was suspended between pack and manifest for longer than the grace"
                    + " period stores its entries")
    void suspendedWriter(String where) {
        List<Entry> all = some(3);
        assertStored(populate(suspendedAt(key -> key.contains(where)), all));
        assertEquals(1, bucket.newest().packs().size(), "what is gone is named no more");
        assertFound(all);
        store.pass(GRACE.multipliedBy(2));
        compact();
        assertFound(all);
    }

    @Test
    @DisplayName(
            "B9 a writer resumes while its old pack still exists: the pack is written again, since"
                    + " another process may be about to remove it")
    void suspendedWriterAndDecidedRemover() {
        List<Entry> all = some(3);
        AtomicBoolean once = new AtomicBoolean();
        List<String> doomed = new ArrayList<>();
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                    store.pass(Duration.ofHours(25));
                    // decided, not yet done
                    store.keys().stream()
                            .filter(name -> name.endsWith(".pack"))
                            .forEach(doomed::add);
                }
                return super.putIfAbsent(key, body, marks);
            }
        };
        assertStored(populate(suspended, all));
        assertEquals(1, doomed.size());
        doomed.forEach(store::remove);
        assertFound(all);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "B9 a compaction was suspended before its commit while another removed its packs: no"
                    + " entry is lost")
    void suspendedCompaction(boolean isInCommit) {
        List<Entry> all = some(6);
        bucket.publish(bucket.pack(all.subList(0, 3)));
        bucket.publish(bucket.pack(all.subList(3, 6)));
        store.pass(GRACE.multipliedBy(2));
        AtomicBoolean once = new AtomicBoolean();
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult before = isInCommit ? null : super.putIfAbsent(key, body, marks);
                if (key.contains(isInCommit ? "/m/0" : ".pack")
                        && once.compareAndSet(false, true)) {
                    String mine = store.keys().stream()
                            .filter(name -> name.endsWith(".pack")
                                    && bucket.newest().packs().stream()
                                            .noneMatch(pack ->
                                                    name.contains(pack.name().hex())))
                            .findFirst()
                            .orElseThrow();
                    store.pass(Duration.ofHours(25));
                    store.remove(mine); // another compaction takes it for an orphan
                }
                return before != null ? before : super.putIfAbsent(key, body, marks);
            }
        };
        PackCompactor compaction = bucket.compaction(suspended);
        PackCompactor.Result result =
                compaction.run(plan(compaction), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertThat(result).isFailed();
        assertFound(all);
        compactTwice();
        assertFound(all);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "B9 a compaction was suspended in its commit, and after it while another removed the"
                    + " replaced packs: no entry is lost")
    void compactionSuspendedAfterCommit(boolean isLate) {
        List<Entry> all = some(6);
        bucket.publish(bucket.pack(all.subList(0, 3)));
        bucket.publish(bucket.pack(all.subList(3, 6)));
        AtomicBoolean once = new AtomicBoolean();
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                boolean isCommit = key.contains("/m/0") && once.compareAndSet(false, true);
                if (isCommit && isLate) {
                    store.pass(BucketRemover.LONGEST_COMMIT.plusHours(1));
                }
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (isCommit) {
                    store.pass(GRACE.multipliedBy(2));
                    compact();
                }
                return result;
            }
        };
        PackCompactor compaction = bucket.compaction(suspended);
        PackCompactor.Result result =
                compaction.run(plan(compaction), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertEquals(isLate, result instanceof PackCompactor.Result.Failed, result::toString);
        assertFound(all);
        compactTwice();
        assertFound(all);
    }

    @Test
    @DisplayName("B9 a compaction committed late while the replaced packs exist: both are named,"
            + " whichever is removed next")
    void lateCompactionAndDecidedRemover() {
        List<Entry> all = some(6);
        bucket.publish(bucket.pack(all.subList(0, 3)));
        bucket.publish(bucket.pack(all.subList(3, 6)));
        AtomicBoolean once = new AtomicBoolean();
        List<String> doomed = new ArrayList<>();
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                    store.pass(Duration.ofHours(25));
                    store.keys().stream()
                            .filter(name -> name.endsWith(".pack")
                                    && bucket.newest().packs().stream()
                                            .noneMatch(pack ->
                                                    name.contains(pack.name().hex())))
                            .forEach(doomed::add); // decided, not yet done
                }
                return super.putIfAbsent(key, body, marks);
            }
        };
        PackCompactor compaction = bucket.compaction(suspended);
        PackCompactor.Result result =
                compaction.run(plan(compaction), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertThat(result).isFailed();
        assertFound(all);
        assertEquals(1, doomed.size());
        doomed.forEach(store::remove);
        assertFound(all);
    }

    @Test
    @DisplayName(
            "B9 a compaction is suspended between the check of its pack and its commit, and its"
                    + " pack is removed: never named")
    void compactionSuspendedBeforeCommit() {
        List<Entry> all = some(6);
        bucket.publish(bucket.pack(all.subList(0, 3)));
        bucket.publish(bucket.pack(all.subList(3, 6)));
        AtomicBoolean once = new AtomicBoolean();
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                    store.pass(Duration.ofHours(25));
                    assertEquals(
                            1,
                            new BucketRemover(store, PackFixture.KEYS, bucket.log())
                                    .removeUnused(bucket.unnamedPacks(), List.of()));
                }
                WriteResult result = super.putIfAbsent(key, body, marks);
                assertFound(all); // after each manifest
                return result;
            }
        };
        PackCompactor compaction = bucket.compaction(suspended);
        PackCompactor.Result result =
                compaction.run(plan(compaction), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertTrue(once.get());
        assertThat(result).isNoneOf(PackCompactor.Result.Done.class);
        assertFound(all);
        assertEquals(
                List.of(),
                bucket.newest().packs().stream()
                        .filter(pack -> !store.keys().contains(PackFixture.KEYS.pack(pack.name())))
                        .toList());
    }

    @Test
    @DisplayName(
            "B9 a publisher that was suspended after a timely commit does not write its pack again")
    void publisherSuspendedAfterCommit() {
        List<Entry> all = some(3);
        ObjectStore suspended = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (key.contains("/m/0")) {
                    store.pass(Duration.ofHours(25));
                }
                return result;
            }
        };
        assertStored(populate(suspended, all));
        assertEquals(
                List.of(1L, 1L), List.of(bucket.packObjects(), bucket.newest().number()));
        assertFound(all);
    }

    @Test
    @DisplayName(
            "B11 a second add of one entry gets no result before the pack is written, and then the"
                    + " same result")
    void twoRequests() {
        Entry entry = made.entry(500);
        List<StoreResult> results = new ArrayList<>();
        PackPublisher publisher = bucket.publisher();
        publisher.add(entry, _ -> {});
        publisher.add(entry, results::add);
        assertEquals(List.of(), results);
        store.plan(FaultPlan.when(
                request -> request.operation().startsWith("PUT"), new Fault.Lost(Fault.DENIED)));
        publisher.finish();
        assertEquals(1, results.size());
        assertThat(results.getFirst()).isFailed();
        store.plan(FaultPlan.SOUND);
        publisher.add(entry, results::add);
        publisher.add(entry, results::add);
        publisher.finish();
        assertStored(results.subList(1, 3));
        assertFound(List.of(entry));
    }

    /** A proxy that strips user metadata. */
    private static final class Stripping extends ForwardingStore {
        Stripping(ObjectStore to) {
            super(to);
        }

        @Override
        public HeadResult head(String key) {
            return super.head(key) instanceof HeadResult.Found found
                    ? new HeadResult.Found(
                            found.bytes(), found.etag(), found.dates(), ObjectMarks.NONE)
                    : HeadResult.ABSENT;
        }

        @Override
        public GetResult get(String key, long limit) {
            return super.get(key, limit) instanceof GetResult.Found found
                    ? new GetResult.Found(
                            found.bytes(), found.etag(), found.dates(), ObjectMarks.NONE)
                    : GetResult.ABSENT;
        }

        @Override
        public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
            return super.putIfAbsent(key, body, ObjectMarks.NONE);
        }
    }

    @Test
    @DisplayName("S4 a proxy that strips user metadata: packs are published, found, compared and"
            + " published again")
    void strippedMetadata() {
        ObjectStore stripping = new Stripping(store);
        List<Entry> first = some(3);
        List<Entry> second = some(3);
        assertStored(populate(stripping, first));
        assertStored(populate(stripping, second));
        assertEquals(2, bucket.newest().number());
        assertFound(first);
        PackManifest known = bucket.newest();
        assertEquals(known, assertThat(bucket.log(stripping).newest(known)).isFound());
        AtomicBoolean once = new AtomicBoolean();
        ObjectStore lossy = new ForwardingStore(stripping) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult result = super.putIfAbsent(key, body, marks);
                return key.contains("/m/0") && once.compareAndSet(false, true)
                        ? new WriteResult.Unknown(Fault.TIMEOUT)
                        : result;
            }
        };
        List<Entry> third = some(3);
        assertStored(populate(lossy, third));
        assertEquals(3, bucket.newest().number());
        assertFound(third);
        store.keys().forEach(store::remove); // emptied, then as many numbers again
        for (int i = 0; i < known.number(); i++) {
            assertStored(populate(stripping, some(1)));
        }
        PackManifest now = assertThat(bucket.log(stripping).newest(known)).isFound();
        assertEquals(
                bucket.newest().packs().stream().map(PackInfo::name).toList(),
                now.packs().stream().map(PackInfo::name).toList());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 20, 23, 24})
    @DisplayName(
            "S4 without metadata the newest manifest is truncated to a few bytes: its number is"
                    + " taken, and publishing goes on")
    void strippedAndTruncated(int length) {
        ObjectStore stripping = new Stripping(store);
        List<Entry> first = some(3);
        List<Entry> second = some(3);
        assertStored(populate(stripping, first));
        assertStored(populate(stripping, second));
        String newest = PackFixture.KEYS.manifest(2);
        store.place(newest, Arrays.copyOf(store.body(newest), length), ObjectMarks.NONE);
        assertStored(populate(stripping, some(3)));
        assertStored(populate(stripping, second));
        assertEquals(4, bucket.newest().number());
        assertFound(first);
        assertFound(second);
    }

    @Test
    @DisplayName(
            "S4 a server that reports an existing manifest but never returns it: the failure names"
                    + " that cause")
    void neverShown() {
        ObjectStore hiding = new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                return key.contains("/m/0")
                        ? WriteResult.PRECONDITION_FAILED
                        : super.putIfAbsent(key, body, marks);
            }
        };
        populate(hiding, some(2)).forEach(result -> {
            String cause = result instanceof StoreResult.Unknown unknown
                    ? unknown.cause()
                    : assertThat(result).isFailed();
            assertTrue(cause.contains("m/0000000000000001") && !cause.contains("faster"), cause);
        });
    }

    @Test
    @DisplayName(
            "S7 500 to the hint's PUT is ambiguous: retried, and published, whether it had landed"
                    + " or not")
    void hintUnknown() {
        for (Fault fault : List.of(
                new Fault.Lost(Fault.ERROR_500),
                new Fault.AnswerLost(Fault.ERROR_500),
                new Fault.Lost(Fault.TIMEOUT),
                new Fault.Conflicting(Fault.Moment.BEFORE))) {
            store.keys().forEach(store::remove);
            AtomicBoolean once = new AtomicBoolean();
            store.plan(request -> request.key().endsWith("newest")
                            && request.operation().startsWith("PUT none")
                            && once.compareAndSet(false, true)
                    ? fault
                    : new Fault.None());
            List<Entry> all = some(2);
            assertStored(populate(store, all));
            assertTrue(once.get());
            store.plan(FaultPlan.SOUND);
            assertFound(all);
        }
    }
}
