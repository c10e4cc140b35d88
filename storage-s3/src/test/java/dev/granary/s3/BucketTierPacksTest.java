package dev.granary.s3;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.function.Function;

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
        return new BucketTier(config, _ -> store, ticker, TestSeed.random("BucketTierPacksTest"));
    }

    private LoadResult load(Id id) {
        store.newRequests();
        return tier.load(id);
    }

    @Test
    @DisplayName("a hit from a pack is one range; an id in no pack takes one request")
    void requests() {
        packs.publish(one);
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("GET head", "RANGE pack", "RANGE pack"), store.newRequests());
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        for (int i = 0; i < 100; i++) {
            assertThat(tier.load(two.id())).isAbsent();
        }
        assertEquals(List.of("GET entry"), store.newRequests());
        assertThat(tier.store(two)).isStored();
        assertEquals(List.of("PUT entry"), store.newRequests());
        assertThat(load(two.id())).isHitOf(two);
        assertEquals(List.of("GET entry"), store.newRequests());
    }

    @Test
    @DisplayName("an entry of a removed pack is stored again")
    void removedPack() {
        PackInfo pack = packs.publish(one);
        assertThat(load(one.id())).isHitOf(one);
        packs.remove(pack);
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("an entry damaged in a pack: damaged, published unpacked by the next store, then"
            + " a hit, also in other processes")
    void damaged() {
        PackInfo pack = packs.publish(one, two);
        packs.damage(pack, one);
        assertThat(load(one.id())).isDamaged(DamageKind.CORRUPT);
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("RANGE pack", "GET entry"), store.newRequests());
        assertThat(load(two.id())).isHitOf(two);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("a missing pack: a miss, published unpacked by the next store, then a hit, also"
            + " in other processes")
    void lostPack() {
        PackInfo pack = packs.publish(one, two);
        assertThat(load(two.id())).isHitOf(two);
        packs.remove(pack);
        assertThat(load(one.id())).isAbsent();
        assertThat(tier.store(one)).isStored();
        assertThat(load(one.id())).isHitOf(one);
        assertThat(tier().load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("packs compacted by another process, and removed: hit")
    void compacted() throws Exception {
        PackInfo first = packs.publish(one);
        PackInfo second = packs.publish(two);
        assertThat(load(two.id())).isHitOf(two);
        packs.compact();
        packs.remove(first);
        packs.remove(second);
        assertThat(load(one.id())).isHitOf(one);
        assertThat(load(two.id())).isHitOf(two);
        assertEquals(List.of("RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName("with slow requests, a lookup of several ends within its deadline, whichever of"
            + " them are slow")
    void deadline() {
        packs.publish(one);
        for (int millis = 100; millis <= 2000; millis += 100) {
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
                    result instanceof LoadResult.Hit || millis % 200 != 0 || millis >= 1000,
                    result::toString);
            store.beforeEach(() -> {});
        }
    }

    @Test
    @DisplayName("with a silent bucket, the first lookup of a process ends within its deadline,"
            + " too")
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
                _ -> store,
                ticker,
                TestSeed.random("withoutPacks"));
        store.newRequests();
        assertThat(without.load(one.id())).isAbsent();
        assertEquals(List.of("GET entry"), store.newRequests());
        assertThat(without.uncached().apply(one.id())).isAbsent();
    }

    @Test
    @DisplayName("a reader without a cache finds what a new machine finds, whatever this process"
            + " knows")
    void uncached() {
        PackInfo pack = packs.publish(one);
        assertThat(tier.load(one.id())).isHitOf(one);
        assertThat(tier.load(two.id())).isAbsent();
        store.newRequests();
        Function<Id, LoadResult> machine = tier.uncached();
        assertThat(machine.apply(one.id())).isHitOf(one);
        assertEquals(List.of("GET head", "RANGE pack", "RANGE pack"), store.newRequests());
        packs.publish(two);
        assertThat(machine.apply(two.id())).isAbsent(); // it has read the head, one interval ago
        assertThat(tier.uncached().apply(two.id())).isHitOf(two);
        packs.remove(pack);
        assertThat(tier.uncached().apply(one.id())).isAbsent();
    }

    @Test
    @DisplayName("an entry that a reader without a cache finds damaged is published again by the"
            + " next store of its tier")
    void uncachedDamage() {
        assertThat(tier.store(one)).isStored();
        String key = PackFixture.unpackedKey(one);
        byte[] damaged = store.body(key);
        damaged[damaged.length - 1] ^= 1;
        store.place(key, damaged);
        assertThat(tier.uncached().apply(one.id())).isDamaged();
        assertThat(tier.store(one)).isStored();
        assertThat(tier.uncached().apply(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("the head was never read: an id without an unpacked entry is unavailable, not"
            + " absent")
    void headNeverRead() {
        packs.publish(one);
        store.plan(FaultPlan.when(
                request -> request.key().endsWith("/head"), new Fault.Lost(Fault.DENIED)));
        packs.placeUnpacked(two);
        assertThat(tier.load(two.id())).isHitOf(two);
        assertThat(tier.load(one.id())).isUnavailable();
        store.plan(FaultPlan.SOUND);
        ticker.pass(Duration.ofMinutes(1));
        assertThat(tier.load(one.id())).isHitOf(one);
    }

    @Test
    @DisplayName("an unpacked entry is damaged: replaced, then a duplicate for the next")
    void damagedUnpacked() {
        assertThat(tier.store(one)).isStored();
        String key = PackFixture.unpackedKey(one);
        byte[] damagedBytes = store.body(key);
        damagedBytes[damagedBytes.length - 1] ^= 1;
        store.place(key, damagedBytes);
        assertThat(tier.load(one.id())).isDamaged();
        assertThat(tier.store(one)).isStored();
        assertThat(tier().load(one.id())).isHitOf(one);
        store.newRequests();
        assertThat(tier.store(one)).isDuplicate();
        assertEquals(List.of("PUT entry", "GET entry"), store.newRequests());
    }

    private static LoadResult read(BucketTier tier, Entry entry) {
        return tier.read(
                new EntryCatalog.Listed(TestEntries.TARGET.path(), entry.id().hash(), 100, 0));
    }

    @Test
    @DisplayName("a listed entry is read from a pack, else unpacked; it is absent only if the"
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
                request -> request.key().endsWith("/head"), new Fault.Lost(Fault.DENIED)));
        assertThat(read(tier(), two)).isUnavailable();
        assertThat(read(tier(), one)).isHitOf(one);
    }

    @Test
    @DisplayName("an entry in a pack under the hash of another, or of another target, is damaged,"
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
    @DisplayName("the packs of one target are not used for another")
    void targets() {
        packs.publish(one);
        Entry other = entries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build(), 100);
        assertThat(load(other.id())).isAbsent();
        assertEquals(List.of("GET head", "GET entry"), store.newRequests());
        assertThat(load(one.id())).isHitOf(one);
        assertEquals(List.of("GET head", "RANGE pack", "RANGE pack"), store.newRequests());
    }
}
