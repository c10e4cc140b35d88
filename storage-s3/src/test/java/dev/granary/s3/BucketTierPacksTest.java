package dev.granary.s3;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Tests of the bucket tier with packs: its requests, and the repair of entries lost in packs. */
class BucketTierPacksTest {
    private final PackFixture packs = new PackFixture("BucketTierPacksTest");
    private final RecordingObjectStore store = packs.store;
    private final TestEntries entries = new TestEntries("BucketTierPacksTest");
    private final TestTicker ticker = new TestTicker();
    private final S3Config config = S3Config.builder("bucket")
            .requestTimeout(Duration.ofSeconds(2))
            .loadDeadline(Duration.ofSeconds(5))
            .build();
    private final BucketTier tier = tier();
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(200);

    private BucketTier tier() {
        return new BucketTier(config, () -> store, ticker, TestSeed.random("BucketTierPacksTest"));
    }

    private LoadResult load(Id id) {
        store.newRequests();
        return tier.load(id);
    }

    @Test
    @DisplayName(
            "R12 a hit from a pack is one range; an id in no pack takes one request if unpacked"
                    + " entries are possible")
    void requests() {
        packs.publish(one);
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(
                List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "RANGE pack", "RANGE pack"),
                store.newRequests());
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        for (int i = 0; i < 100; i++) {
            assertThat(tier.load(two.id())).isAbsent();
        }
        assertEquals(List.of("GET entry"), store.newRequests());
        tier.store(two);
        assertThat(load(two.id())).isHitOf(two);
        assertEquals(List.of("GET entry"), store.newRequests());
    }

    @Test
    @DisplayName(
            "R18 an entry of a removed pack is stored again, and no duplicate because of a cached"
                    + " index")
    void removedPack() {
        PackInfo pack = packs.publish(one);
        assertThat(load(one.id())).isHitOf(one);
        assertThat(tier.store(one)).isDuplicate();
        packs.remove(pack);
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("R12 without unpacked entries, 10,000 absent ids take no request")
    void sealed() {
        packs.publish(one);
        packs.seal();
        assertThat(load(one.id())).isHitOf(one);
        store.newRequests();
        for (int i = 0; i < 10_000; i++) {
            assertThat(tier.load(entries.id())).isAbsent();
        }
        assertEquals(List.of(), store.newRequests());
    }

    @Test
    @DisplayName("R12 an entry in a pack is not published again, and its manifest is confirmed")
    void duplicate() {
        packs.publish(one);
        assertThat(load(one.id())).isHitOf(one);
        store.newRequests();
        assertThat(tier.store(one)).isDuplicate();
        assertEquals(
                List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "GET newest", "HEAD pack"),
                store.newRequests());
    }

    @Test
    @DisplayName(
            "D6 an entry damaged in a pack: damaged, published unpacked by the next store, then a"
                    + " hit, also in other processes")
    void damaged() {
        PackInfo pack = packs.publish(one, two);
        packs.seal();
        packs.damage(pack, one);
        assertThat(load(one.id())).isDamaged(DamageKind.CORRUPT);
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("RANGE pack", "GET entry"), store.newRequests());
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("GET entry"), store.newRequests());
        assertThat(load(two.id())).isHitOf(two);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName(
            "R18 a missing pack: a miss, published unpacked by the next store, then a hit, also in"
                    + " other processes")
    void lostPack() {
        PackInfo pack = packs.publish(one, two);
        packs.seal();
        assertThat(load(two.id())).isHitOf(two);
        packs.remove(pack);
        assertThat(load(one.id())).isAbsent();
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("R18 a pack replaced by another process: hit")
    void replacedPack() {
        PackInfo pack = packs.publish(one, two);
        assertThat(load(two.id())).isHitOf(two);
        packs.replace(pack, one, two);
        assertThat(load(one.id())).isHitOf(one);
        assertThat(load(two.id())).isHitOf(two);
        assertEquals(List.of("RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName(
            "R16 with slow requests, a lookup of several ends within its deadline, whichever of"
                    + " them are slow")
    void deadline() {
        for (int millis = 100; millis <= 2000; millis += 100) {
            packs.publish(one);
            Duration slow = Duration.ofMillis(millis);
            BucketTier fresh = tier();
            store.beforeEach(() -> ticker.pass(slow));
            long start = ticker.nanos();
            LoadResult result = fresh.load(millis % 200 == 0 ? one.id() : entries.id());
            long elapsed = ticker.nanos() - start;
            assertTrue(
                    elapsed <= config.loadDeadline().toNanos(),
                    () -> "requests of " + slow + " took " + Duration.ofNanos(elapsed));
            assertTrue(
                    result instanceof LoadResult.Hit || millis % 200 != 0 || millis >= 500,
                    result::toString);
            store.beforeEach(() -> {});
        }
    }

    @Test
    @DisplayName(
            "R16 with a silent bucket, the first lookup of a process ends within its deadline, too")
    void silence() {
        packs.publish(one);
        store.beforeEach(() -> {
            ticker.pass(Duration.ofSeconds(2));
            store.script(new Fault.Lost(TIMEOUT));
        });
        for (int i = 0; i < 5; i++) {
            long start = ticker.nanos();
            assertThat(tier().load(one.id())).isUnavailable();
            Duration elapsed = Duration.ofNanos(ticker.nanos() - start);
            assertTrue(elapsed.compareTo(config.loadDeadline()) <= 0, elapsed::toString);
        }
    }

    @Test
    @DisplayName("with an interval of zero, no packs are requested")
    void withoutPacks() {
        packs.publish(one);
        BucketTier without = new BucketTier(
                S3Config.builder("bucket").refreshInterval(Duration.ZERO).build(),
                () -> store,
                ticker,
                TestSeed.random("withoutPacks"));
        store.newRequests();
        assertThat(without.load(one.id())).isAbsent();
        assertEquals(List.of("GET entry"), store.newRequests());
    }

    private static boolean holds(BucketTier tier, Entry entry) {
        return tier.duplicates().find(entry).isPresent();
    }

    private void expireAbsences() {
        ticker.pass(Duration.ofSeconds(30));
    }

    @Test
    @DisplayName("B8 an entry published unpacked to a sealed target is found by every machine that"
            + " refreshes its manifest")
    void publishedIntoSealed() {
        packs.publish(one);
        packs.seal();
        assertThat(tier.store(two)).isStored();
        assertThat(tier().load(two.id())).isHitOf(two);
        assertTrue(holds(tier(), two));
        store.newRequests();
        assertThat(tier.store(two)).isDuplicate();
        assertTrue(
                store.namedRequests().stream().noneMatch(note -> note.startsWith("PUT m")),
                "committed once: " + store.namedRequests());
    }

    @Test
    @DisplayName("B8 an unpacked entry in a sealed target, invisible to lookups, is no duplicate;"
            + " storing it again makes it visible")
    void unpackedInSealed() {
        packs.publish(one);
        packs.seal();
        packs.placeUnpacked(two);
        BucketTier ci = tier();
        assertThat(ci.load(two.id())).isAbsent();
        expireAbsences();
        assertFalse(holds(ci, two));
        assertTrue(holds(ci, one));
        assertThat(ci.store(two)).isNoneOf(StoreResult.Failed.class);
        assertThat(tier().load(two.id())).isHitOf(two);
        assertTrue(holds(ci, two));
    }

    @Test
    @DisplayName(
            "B8 a target sealed after a machine has read its manifest: entries that the machine"
                    + " publishes then are found")
    void sealedAfterReading() {
        packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        assertThat(packs.compactAndSeal()).isDone();
        assertThat(tier.store(two)).isStored();
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName(
            "B8 an entry published unpacked during a sealing compaction: found, and the compaction"
                    + " reports that it did not seal")
    void sealedMeanwhile() {
        packs.publish(one);
        PackCompactor.Result result = packs.compactAndSeal(() -> packs.placeUnpacked(two));
        assertEquals(
                PackManifest.UnpackedEntries.POSSIBLE,
                assertThat(result).isDone().unpackedEntries());
        assertThat(tier().load(two.id())).isHitOf(two);
        result = packs.compactAndSeal();
        assertEquals(
                PackManifest.UnpackedEntries.NONE, assertThat(result).isDone().unpackedEntries());
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName("B8 a target without packs is sealed by its first compaction: an entry published"
            + " unpacked then is found after the next refresh")
    void firstSeal() {
        packs.placeUnpacked(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        packs.compactAndSeal();
        assertThat(tier.store(two)).isStored();
        ticker.pass(config.refreshInterval().multipliedBy(4));
        tier.load(entries.id());
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName(
            "B8 a sealed target whose manifest cannot be changed: no success is reported, and a"
                    + " later store succeeds")
    void cannotUnseal() {
        packs.publish(one);
        packs.seal();
        assertThat(tier.load(one.id())).isHitOf(one);
        tier.conditionalWrites();
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/0") && request.operation().startsWith("PUT"),
                new Fault.Lost(Fault.DENIED)));
        String cause = assertThat(tier.store(two)).isFailed();
        assertTrue(cause.contains("manifest") && cause.contains("AccessDenied"), cause);
        store.plan(FaultPlan.SOUND);
        assertThat(tier.store(two)).isNoneOf(StoreResult.Failed.class);
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName(
            "B8 the bucket does not confirm that the manifest is the newest: unknown, and found"
                    + " after a later store")
    void unconfirmedAfterStoring() {
        packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        packs.compactAndSeal();
        tier.conditionalWrites();
        store.plan(
                FaultPlan.when(request -> request.key().contains("/m/"), new Fault.Lost(TIMEOUT)));
        assertThat(tier.store(two)).isUnknown();
        store.plan(FaultPlan.SOUND);
        assertThat(tier.store(two)).isDuplicate();
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName("B8 a process that only publishes also detects that the target is sealed")
    void publishesOnly() {
        packs.publish(one);
        packs.seal();
        assertThat(tier().store(two)).isStored();
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName("B8 a process that has read only the hint of a target without packs, and a first"
            + " compaction that seals: found at once")
    void firstSealIsSeenAtOnce() {
        packs.placeUnpacked(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        packs.compactAndSeal();
        assertThat(tier.store(two)).isStored();
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName("B8 the hint cannot be read after an entry was stored unpacked: no success is"
            + " reported, and a later store succeeds")
    void hintRefusedAfterStoring() {
        packs.publish(one);
        packs.seal();
        tier.conditionalWrites();
        store.plan(FaultPlan.when(
                request -> request.key().endsWith("newest"), new Fault.Lost(Fault.DENIED)));
        assertThat(tier.store(two)).isUnknown();
        store.plan(FaultPlan.SOUND);
        assertThat(tier.store(two)).isDuplicate();
        assertThat(tier().load(two.id())).isHitOf(two);
    }

    @Test
    @DisplayName("A3 an older manifest names an existing pack, the newest one a missing pack: no"
            + " duplicate")
    void olderManifestIsNotTrusted() {
        PackInfo old = packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        PackInfo with = packs.replaceAndKeep(old, one);
        packs.remove(with);
        assertFalse(holds(tier, one));
        assertThat(tier.store(one)).isStored();
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName(
            "A3 the tier's own shortcut does not trust an older manifest either: stored, although"
                    + " the known pack exists")
    void shortcutConfirms() {
        PackInfo old = packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        packs.remove(packs.replaceAndKeep(old, one));
        assertThat(tier.store(one)).isStored();
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName(
            "A3 the hint is missing, or the manifest in the bucket is truncated: earlier knowledge"
                    + " of a process makes no duplicate")
    void damagedManifestIsNotTrusted() {
        packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        assertTrue(holds(tier, one));
        store.keys().stream()
                .filter(key -> key.contains("/m/0"))
                .forEach(key ->
                        store.place(key, Arrays.copyOf(store.body(key), 20), store.marks(key)));
        assertFalse(holds(tier, one));
        store.keys().stream().filter(key -> key.contains("/m/")).forEach(store::remove);
        assertFalse(holds(tier, one));
    }

    @Test
    @DisplayName(
            "A3 a pack is truncated after an entry, and this process has its index: the entry is"
                    + " read, but no duplicate")
    void truncatedPackWithKnownIndex() {
        PackInfo pack = packs.publish(one, two);
        assertThat(tier.load(one.id())).isHitOf(one);
        assertTrue(holds(tier, one));
        String key = store.keys().stream()
                .filter(name -> name.endsWith(".pack"))
                .findFirst()
                .orElseThrow();
        store.place(
                key, Arrays.copyOf(store.body(key), (int) pack.indexOffset()), store.marks(key));
        assertThat(tier.load(one.id())).isHitOf(one);
        assertFalse(holds(tier, one));
    }

    @Test
    @DisplayName("A3 S3 a truncated unpacked entry is no duplicate")
    void truncatedUnpacked() {
        packs.placeUnpacked(one);
        assertTrue(holds(tier(), one));
        store.keys().stream()
                .filter(key -> key.contains("/e/"))
                .forEach(key ->
                        store.place(key, Arrays.copyOf(store.body(key), 60), store.marks(key)));
        assertFalse(holds(tier(), one));
    }

    @Test
    @DisplayName(
            "A3 the existence of a pack cannot be determined: its entry is no duplicate, and is"
                    + " published unpacked")
    void unconfirmedPack() {
        PackInfo pack = packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        store.plan(FaultPlan.when(
                request -> request.operation().equals("HEAD")
                        && request.key().contains(pack.name().hex()),
                new Fault.Lost(Fault.TIMEOUT)));
        assertThat(tier.store(one)).isStored();
    }

    @Test
    @DisplayName(
            "A3 an entry of other content under the same id is reported as divergent, packed and"
                    + " unpacked")
    void divergent() {
        Entry other = entries.entry(one.id(), 300);
        Entry another = entries.entry(two.id(), 300);
        packs.publish(one);
        packs.placeUnpacked(two);
        DuplicateFinder run = tier.duplicates();
        assertEquals(
                List.of(
                        StoreResult.DUPLICATE,
                        StoreResult.DIVERGENT,
                        StoreResult.DUPLICATE,
                        StoreResult.DIVERGENT),
                Stream.of(one, other, two, another)
                        .map(entry -> run.find(entry).orElseThrow())
                        .toList());
    }

    @Test
    @DisplayName("A3 one run requests the manifest once for any number of entries; the next run"
            + " requests it again")
    void confirmedOnce() {
        packs.publish(one, two);
        BucketTier ci = tier();
        assertThat(ci.load(one.id())).isHitOf(one);
        DuplicateFinder run = ci.duplicates();
        store.newRequests();
        assertTrue(run.find(one).isPresent()
                && run.find(two).isPresent()
                && run.find(one).isPresent());
        assertEquals(
                List.of(
                        "GET newest",
                        "HEAD m1",
                        "HEAD m2",
                        "GET m1",
                        "GET newest",
                        "HEAD pack",
                        "RANGE pack",
                        "RANGE pack",
                        "RANGE pack"),
                store.newRequests());
        assertTrue(holds(ci, one));
        assertEquals(7, store.newRequests().size());
    }

    @Test
    @DisplayName(
            "B5 the hint is behind, and would expire first: it is advanced before an entry counts"
                    + " as a duplicate")
    void hintBehind() {
        packs.publish(one);
        packs.publish(two);
        store.place(PackFixture.KEYS.hint(), new byte[] {'1'}, ObjectMarks.NONE);
        assertTrue(tier.duplicates().find(two).isPresent());
        assertEquals("2", new String(store.body(PackFixture.KEYS.hint()), US_ASCII));
        store.place(PackFixture.KEYS.hint(), new byte[] {'1'}, ObjectMarks.NONE);
        assertThat(tier.store(two)).isDuplicate();
        assertEquals("2", new String(store.body(PackFixture.KEYS.hint()), US_ASCII));
    }

    @Test
    @DisplayName(
            "A3 the hint names a missing manifest, and lookups may not list: the shortcut does not"
                    + " apply, and nothing is a duplicate")
    void shortcutMatchesLookups() {
        packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        store.keys().stream()
                .filter(key -> key.endsWith("newest"))
                .forEach(key -> store.place(key, new byte[] {'9'}, store.marks(key)));
        assertFalse(holds(tier, one));
        assertThat(tier.store(one)).isStored();
    }

    @Test
    @DisplayName("A5 no manifest was ever read: an id without an unpacked entry is unavailable, not"
            + " absent")
    void manifestNeverRead() {
        packs.publish(one);
        store.plan(FaultPlan.when(
                request -> request.key().endsWith("newest"), new Fault.Lost(Fault.DENIED)));
        packs.placeUnpacked(two);
        assertThat(tier.load(two.id())).isHitOf(two);
        assertThat(tier.load(one.id())).isUnavailable();
        store.plan(FaultPlan.SOUND);
        ticker.pass(Duration.ofMinutes(1));
        assertThat(tier.load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName(
            "A1 D6 an entry read as damaged in a pack of full length: published again, also after"
                    + " the manifest was read again")
    void suspectInSoundPack() {
        PackInfo pack = packs.publish(one, two);
        packs.damage(pack, one);
        assertThat(tier.load(one.id())).isDamaged();
        // reads the manifest for it, and discards disproved knowledge
        assertTrue(holds(tier, two));
        assertThat(tier.store(one)).isStored();
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName(
            "A1 S3 an unpacked entry damaged under intact metadata: replaced by a process that has"
                    + " read it, then a duplicate for the next")
    void suspectUnpacked() {
        assertThat(tier.store(one)).isStored();
        String key = store.keys().stream()
                .filter(name -> name.contains("/e/"))
                .findFirst()
                .orElseThrow();
        byte[] damagedBytes = store.body(key);
        damagedBytes[damagedBytes.length - 1] ^= 1;
        store.place(key, damagedBytes, store.marks(key));
        assertThat(tier.load(one.id())).isDamaged();
        assertThat(tier.store(one)).isStored();
        assertThat(tier().load(one.id())).isHitOf(one);
        store.newRequests();
        assertThat(tier.store(one)).isDuplicate();
        assertEquals(
                List.of("PUT entry", "HEAD entry"),
                store.newRequests().stream()
                        .filter(note -> note.endsWith(" entry"))
                        .toList(),
                "it is trusted again");
    }

    @Test
    @DisplayName(
            "B8 an unpacked entry of other content in a sealed target: reported as divergent, and"
                    + " visible to lookups from then on")
    void divergentInSealed() {
        Entry first = entries.entry(two.id(), 300);
        packs.publish(one);
        packs.placeUnpacked(first);
        packs.seal();
        assertThat(tier.store(two)).isDivergent();
        assertThat(tier().load(two.id())).isHitOf(first);
    }

    @Test
    @DisplayName("A3 the existence of the pack of a read entry cannot be determined: no duplicate")
    void unconfirmedPackIsNoDuplicate() {
        PackInfo pack = packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        store.plan(FaultPlan.when(
                request -> request.operation().equals("HEAD")
                        && request.key().contains(pack.name().hex()),
                new Fault.Lost(Fault.TIMEOUT)));
        assertFalse(holds(tier, one));
        store.plan(FaultPlan.SOUND);
        assertTrue(holds(tier, one));
    }

    private static LoadResult read(BucketTier tier, Entry entry) {
        return tier.read(
                new EntryCatalog.Listed(TestEntries.TARGET.path(), entry.id().hash(), 100, 0));
    }

    @Test
    @DisplayName("A5 D6 a listed entry is read from a pack, else unpacked; it is absent only if the"
            + " bucket says so")
    void readListed() {
        PackInfo pack = packs.publish(one);
        assertThat(read(tier, one)).isHitOf(one);
        packs.damage(pack, one);
        assertThat(read(tier(), one)).isDamaged();
        packs.placeUnpacked(one);
        assertThat(read(tier(), one)).isHitOf(one);
        assertThat(read(tier(), two)).isAbsent();
        store.plan(FaultPlan.when(
                request -> request.key().endsWith("newest"), new Fault.Lost(Fault.DENIED)));
        assertThat(read(tier(), two)).isUnavailable();
        assertThat(read(tier(), one)).isHitOf(one);
        store.plan(FaultPlan.SOUND);
        packs.seal();
        assertThat(read(tier(), two)).isAbsent();
        packs.placeUnpacked(two);
        assertThat(read(tier(), two)).as("unpacked in a sealed target").isHitOf(two);
    }

    @Test
    @DisplayName(
            "D6 an entry in a pack under the hash of another, or of another target, is damaged,"
                    + " also in a listing")
    void misplaced() {
        Entry other = entries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "misplaced").build(), 100);
        PackBuilder wrong = new PackBuilder(PackFixture.NAMESPACE, packs.random());
        wrong.add(one.id().hash(), PackFixture.encoded(two), 0);
        wrong.add(other.id().hash(), PackFixture.encoded(other), 0);
        packs.publish(wrong.build());
        assertThat(load(one.id())).isDamaged(DamageKind.WRONG_KEY);
        for (Entry wanted : List.of(one, other)) {
            assertThat(read(tier(), wanted)).isDamaged(DamageKind.WRONG_KEY);
        }
    }

    @Test
    @DisplayName(
            "A3 one run requests the manifest of each target, however often another one was read"
                    + " before")
    void confirmedForEachTarget() {
        Entry other = entries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build(), 100);
        packs.publish(one);
        assertThat(tier.load(other.id())).isAbsent();
        DuplicateFinder run = tier.duplicates();
        assertTrue(run.find(one).isPresent());
        store.newRequests();
        assertTrue(run.find(other).isEmpty());
        assertTrue(store.newRequests().contains("GET newest"));
    }
}
