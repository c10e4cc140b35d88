package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.quarantine.QuarantineReporter;
import dev.granary.s3.quarantine.QuarantineReports;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Tests of the quarantine in a bucket: an entry that ended processes of two computers is replaced
 * wherever readers find it, and only then.
 */
class BucketQuarantineTest {
    private static final String TEST = "BucketQuarantineTest";

    private final TestEntries entries = new TestEntries(TEST);
    private final PackFixture packs = new PackFixture(TEST);
    private final RecordingObjectStore store = packs.store;
    private final Entry bad = entries.entry(500);
    private final Entry fresh = entries.entry(bad.id(), 400);
    private final Entry freshToo = entries.entry(bad.id(), 300);
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeEach
    void fullServer() {
        capabilities(ConditionalWriteSupport.FULL);
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    private void capabilities(ConditionalWriteSupport writes) {
        S3Config config = S3Config.builder("bucket").build();
        store.place(TestProcess.markerKey(config), TestProcess.marker(writes), ObjectMarks.NONE);
    }

    private BucketTier tier(S3Access access) {
        BucketTier tier = new BucketTier(
                S3Config.builder("bucket").access(access).build(),
                () -> store,
                new TestTicker(),
                TestSeed.random(TEST));
        open.add(tier);
        return tier;
    }

    /** Returns the shared quarantine as a new process opens it. */
    private BucketQuarantine quarantine() {
        return quarantine(S3Access.READ_WRITE);
    }

    private BucketQuarantine quarantine(S3Access access) {
        BucketQuarantine quarantine = tier(access)
                .quarantine(() -> new BulkBucket(
                        S3Config.builder("bucket").build(),
                        () -> store,
                        new TestTicker(),
                        TestSeed.random(TEST + " packed")));
        open.add(quarantine);
        return quarantine;
    }

    private static QuarantineReporter computer(int number) {
        return reporter(number, number, QuarantineReporter.Authority.MACHINE);
    }

    private static QuarantineReporter reporter(
            int directory, int host, QuarantineReporter.Authority authority) {
        return new QuarantineReporter(
                String.format("%032x", directory), String.format("%032x", host), authority);
    }

    private StoreResult replace(Entry by, int computer) {
        return quarantine().replace(by, bad.contentHash(), computer(computer));
    }

    private LoadResult load() {
        return tier(S3Access.READ_WRITE).load(bad.id());
    }

    private List<QuarantineReports.Listed> reports() throws IOException {
        return quarantine().list();
    }

    @Test
    @DisplayName("N7 an unpacked entry that ended processes of two computers is replaced by the"
            + " second one's binaries")
    void unpacked() throws Exception {
        packs.placeUnpacked(bad);
        assertThat(replace(fresh, 1)).isDivergent();
        assertThat(load()).isHitOf(bad);
        assertFalse(reports().getFirst().report().isConfirmed());
        assertThat(replace(freshToo, 2)).isStored();
        assertThat(load()).isHitOf(freshToo);
        assertTrue(reports().getFirst().report().isConfirmed());
        assertThat(replace(fresh, 3)).isDivergent();
        assertThat(load()).isHitOf(freshToo);
        assertThat(replace(freshToo, 3)).isDuplicate();
    }

    @Test
    @DisplayName("N7 one computer replaces nothing, whatever its directories, restarts and tries")
    void oneComputer() {
        packs.placeUnpacked(bad);
        for (int directory = 1; directory <= 3; directory++) {
            assertThat(quarantine()
                            .replace(
                                    fresh,
                                    bad.contentHash(),
                                    reporter(directory, 1, QuarantineReporter.Authority.MACHINE)))
                    .isDivergent();
        }
        for (int boot = 1; boot <= 20; boot++) {
            assertThat(quarantine()
                            .replace(
                                    fresh,
                                    bad.contentHash(),
                                    reporter(1, boot, QuarantineReporter.Authority.MACHINE)))
                    .isDivergent();
        }
        assertThat(load()).isHitOf(bad);
    }

    @Test
    @DisplayName("N7 an operator needs no second computer")
    void operator() {
        packs.placeUnpacked(bad);
        assertThat(quarantine()
                        .replace(
                                fresh,
                                bad.contentHash(),
                                reporter(1, 1, QuarantineReporter.Authority.OPERATOR)))
                .isStored();
        assertThat(load()).isHitOf(fresh);
    }

    @Test
    @DisplayName("N7 a packed entry is replaced in the pack that readers take it from; all others"
            + " stay, and so does a seal")
    void packed() {
        List<Entry> others = List.of(entries.entry(100), entries.entry(200), entries.entry(300));
        packs.publish(packs.pack(others.subList(0, 1)));
        packs.publish(others.get(1), bad, others.get(2));
        packs.publish(bad); // readers take it from the first
        packs.seal();
        assertThat(replace(fresh, 1)).isDuplicate();
        assertThat(load()).isHitOf(bad);
        assertThat(replace(freshToo, 2)).isStored();
        assertThat(load()).isHitOf(freshToo);
        for (Entry other : others) {
            assertThat(tier(S3Access.READ_WRITE).load(other.id())).isHitOf(other);
        }
        assertEquals(PackManifest.UnpackedEntries.NONE, packs.newest().unpackedEntries());
        assertEquals(3, packs.newest().packs().size());
    }

    @Test
    @DisplayName("N7 no compaction brings a replaced entry back")
    void compaction() {
        packs.publish(packs.pack(List.of(entries.entry(100), bad)));
        PackInfo large = packs.publish(packs.pack(List.of(entries.entry(17 << 20), bad)));
        packs.publish(packs.pack(List.of(entries.entry(100), bad)));
        replace(fresh, 1);
        assertThat(replace(fresh, 2)).isStored();
        CompactionPlan plan =
                assertThat(packs.compaction().plan(Duration.ofDays(1))).isReady();
        assertEquals(2, plan.merged());
        assertThat(packs.compaction().run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}))
                .isDone();
        assertTrue(packs.newest().names(large.name()), "the large pack has the entry, too");
        assertThat(load()).isHitOf(fresh);
    }

    @Test
    @DisplayName("N7 the unpacked copy of a packed entry is replaced as well")
    void both() {
        packs.publish(bad);
        packs.placeUnpacked(bad);
        replace(fresh, 1);
        assertThat(replace(fresh, 2)).isStored();
        packs.newest().packs().forEach(packs::remove);
        assertThat(load()).isHitOf(fresh);
    }

    @Test
    @DisplayName("N7 a replacement that a compaction overtakes is planned again")
    void overtaken() {
        packs.publish(bad, entries.entry(100));
        packs.publish(entries.entry(100));
        replace(fresh, 1);
        int[] written = {0};
        store.plan(request -> {
            if (request.key().endsWith(".pack")
                    && request.operation().startsWith("PUT")
                    && written[0]++ == 0) {
                return new Fault.Meanwhile(
                        () -> assertThat(packs.compactAndSeal()).isDone());
            }
            return new Fault.None();
        });
        assertThat(replace(fresh, 2)).isStored();
        store.plan(FaultPlan.SOUND);
        assertTrue(written[0] > 2, "two packs of the replacement, one of the compaction");
        assertThat(load()).isHitOf(fresh);
        assertEquals(1, packs.newest().packs().size());
    }

    @Test
    @DisplayName("N7 with weaker servers two computers still replace an unpacked entry")
    void weakerServers() {
        for (ConditionalWriteSupport writes :
                List.of(ConditionalWriteSupport.CREATE_ONLY, ConditionalWriteSupport.NONE)) {
            store.keys().forEach(store::remove);
            capabilities(writes);
            packs.placeUnpacked(bad);
            assertThat(replace(fresh, 1)).isDivergent();
            assertThat(replace(freshToo, 2)).isStored();
            assertThat(load()).isHitOf(freshToo);
        }
    }

    @Test
    @DisplayName("N7 a report counts for 30 days by the server's clock")
    void expiry() {
        packs.placeUnpacked(bad);
        assertThat(replace(fresh, 1)).isDivergent();
        store.pass(QuarantineReports.TIME_TO_LIVE.plusSeconds(1));
        assertThat(replace(fresh, 2)).isDivergent();
        assertThat(load()).isHitOf(bad);
        store.pass(QuarantineReports.TIME_TO_LIVE.minusSeconds(1));
        assertThat(replace(fresh, 3)).isStored();
    }

    @Test
    @DisplayName("N7 a withdrawn report confirms no other")
    void withdrawn() throws Exception {
        packs.placeUnpacked(bad);
        replace(fresh, 1);
        quarantine().withdraw(reports().getFirst());
        assertEquals(List.of(), reports());
        assertThat(replace(fresh, 2)).isDivergent();
        assertThat(load()).isHitOf(bad);
    }

    @Test
    @DisplayName("N7 other content of the id is never replaced, and an absent entry is published")
    void otherContent() throws Exception {
        packs.placeUnpacked(freshToo);
        assertThat(replace(fresh, 1)).isDivergent();
        assertThat(replace(fresh, 2)).isDivergent();
        assertThat(load()).isHitOf(freshToo);
        assertEquals(List.of(), reports());
        store.remove(PackFixture.unpackedKey(bad));
        assertThat(replace(fresh, 1)).isStored();
        assertThat(load()).isHitOf(fresh);
        assertThrows(IllegalArgumentException.class, () -> replace(bad, 1));
    }

    @Test
    @DisplayName(
            "N7 A1 content that another publisher has not made visible yet is acknowledged only"
                    + " when all readers find it")
    void sealedMeanwhile() {
        packs.intendToSeal();
        packs.placeUnpacked(freshToo);
        assertThat(replace(fresh, 1)).isDivergent();
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, packs.newest().unpackedEntries());
    }

    @Test
    @DisplayName("N7 a lookup sends no request more, with reports and after a replacement")
    void requests() {
        packs.placeUnpacked(bad);
        replace(fresh, 1);
        store.forgetRequests();
        load();
        List<String> waiting = store.requests();
        replace(fresh, 2);
        store.forgetRequests();
        load();
        assertEquals(waiting, store.requests());
        assertEquals(
                List.of(),
                store.namedRequests().stream()
                        .filter(one -> one.contains("/q/"))
                        .toList());
    }

    @Test
    @DisplayName("N7 a bucket that refuses writes, and a read-only one, get no report")
    void refused() {
        packs.placeUnpacked(bad);
        store.forgetRequests();
        assertThat(quarantine(S3Access.READ).replace(fresh, bad.contentHash(), computer(1)))
                .isRefused();
        assertEquals(List.of(), store.requests());
        store.plan(FaultPlan.when(
                request -> request.key().contains("/q/") && request.operation().startsWith("PUT"),
                new Fault.Lost(Fault.DENIED)));
        BucketQuarantine denied = quarantine();
        assertThat(denied.replace(fresh, bad.contentHash(), computer(1))).isRefused();
        store.forgetRequests();
        assertThat(denied.replace(fresh, bad.contentHash(), computer(1))).isRefused();
        assertEquals(List.of(), store.requests(), "writes are suspended");
    }

    @Test
    @DisplayName("N7 with any fault at any request, one computer replaces nothing, and a result of"
            + " the second one is true")
    void everyFault() throws Exception {
        for (boolean isPacked : List.of(false, true)) {
            for (Fault fault : Fault.each()) {
                for (int at = 0; at < 14; at++) {
                    withFault(isPacked, fault, at);
                }
            }
        }
    }

    private void withFault(boolean isPacked, Fault fault, int at) throws Exception {
        store.keys().forEach(store::remove);
        capabilities(ConditionalWriteSupport.FULL);
        Entry other = entries.entry(50);
        if (isPacked) {
            packs.publish(bad, other);
        } else {
            packs.placeUnpacked(bad);
        }
        String name = fault + " at " + at + (isPacked ? " packed" : " unpacked");
        faulty(fault, at);
        replace(fresh, 1);
        settle();
        if (fault.isFalse()) {
            // any publisher replaces an entry that is answered as damaged
            assertThat(load()).as(name).isHit();
        } else {
            assertThat(load()).as(name).isHitOf(bad);
        }
        faulty(fault, at);
        StoreResult result = replace(freshToo, 2);
        settle();
        switch (result) {
            case StoreResult.Stored _ when fault.isFalse() -> {} // such as success without a write
            case StoreResult.Stored _ -> assertThat(load()).as(name).isHitOf(freshToo);
            case StoreResult.Divergent _, StoreResult.Duplicate _ ->
                assertThat(load()).as(name).isHit();
            case StoreResult.Refused _, StoreResult.Failed _, StoreResult.Unknown _ -> {}
        }
        replace(fresh, 1); // now without faults
        StoreResult last = replace(freshToo, 2);
        assertFalse(last instanceof StoreResult.Failed, () -> name + ": " + last);
        LoadResult found = load();
        assertTrue(
                found instanceof LoadResult.Hit(Entry entry)
                        && !entry.contentHash().equals(bad.contentHash()),
                () -> name + ": " + found);
        if (isPacked) {
            assertThat(tier(S3Access.READ_WRITE).load(other.id())).as(name).isHitOf(other);
        }
        close();
        open.clear();
    }

    private void faulty(Fault fault, int at) {
        int[] requests = {0};
        store.plan(request -> requests[0]++ == at ? fault : new Fault.None());
    }

    private void settle() {
        store.plan(FaultPlan.SOUND);
        store.land();
    }
}
