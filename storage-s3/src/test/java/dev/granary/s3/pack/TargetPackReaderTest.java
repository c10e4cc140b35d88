package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Head;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.stream.Stream;

/**
 * Lookups in packs: the number of requests, and the handling of a pack, an index, a base or a
 * bucket that does not match the head.
 */
class TargetPackReaderTest {
    private static final int LOOKUPS = 200;
    private static final Duration INTERVAL = Duration.ofMinutes(1);
    private static final List<String> FIRST_HIT = List.of("GET head", "RANGE pack", "RANGE pack");
    private static final String MISS = "GET entry";

    private final PackFixture bucket = new PackFixture("TargetPackReaderTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("TargetPackReaderTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(200);
    private final Queue<Runnable> background = new ArrayDeque<>();
    private long nanos = 1_000_000_000_000L;
    private final PackLookupDriver machine = machine();

    private PackLookupDriver machine() {
        return new PackLookupDriver(
                store,
                new PackReader(
                        store,
                        bucket.settings(Optional.empty()),
                        new RefreshSchedule(
                                INTERVAL,
                                Duration.ofSeconds(30),
                                () -> nanos,
                                () -> 0,
                                bucket.random()),
                        background::add));
    }

    private LoadResult load(Entry entry) {
        store.newRequests();
        return machine.load(entry);
    }

    private void assertHit(Entry entry, String... requests) {
        assertThat(load(entry)).isHitOf(entry);
        assertEquals(List.of(requests), store.newRequests());
    }

    private void assertAbsent(Entry entry, String... requests) {
        assertThat(load(entry)).isAbsent();
        assertEquals(List.of(requests), store.newRequests());
    }

    /** A time longer than a head is used without a comparison. */
    private void passInterval() {
        nanos += INTERVAL.multipliedBy(2).toNanos();
    }

    private void passMaxAge() {
        nanos += INTERVAL.multipliedBy(RefreshSchedule.MAX_AGE).toNanos() + 1_000_000;
    }

    /** Lets the machine compare its head, as a lookup after the interval does. */
    private void refresh() {
        passInterval();
        load(entries.entry(1));
        background.remove().run();
    }

    /** Moves the packs into a base, as the publisher of the 64th does. */
    private void fold() {
        do {
            bucket.publishOther(entries, one, two);
        } while (!bucket.head().recent().isEmpty());
        assertTrue(bucket.head().base().isPresent());
    }

    @Test
    @DisplayName("the first lookup reads head and index; then a hit is one range, and a miss is"
            + " one request")
    void requests() {
        bucket.publish(one);
        bucket.publish(two);
        assertThat(load(one)).isHitOf(one);
        assertEquals(FIRST_HIT, store.newRequests());
        assertHit(two, "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack");
        assertHit(two, "RANGE pack");
        assertAbsent(entries.entry(1), MISS);
        assertEquals(List.of(), List.copyOf(background));
    }

    @Test
    @DisplayName("the first lookup of an entry in a folded pack takes four requests")
    void folded() {
        bucket.publish(one);
        fold();
        assertHit(one, "GET head", "GET base", "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack");
    }

    @Test
    @DisplayName("a target without packs: the head is requested once")
    void noPacks() {
        assertAbsent(one, "GET head", MISS);
        assertAbsent(one, MISS);
        bucket.placeUnpacked(two);
        assertHit(two, MISS);
    }

    @Test
    @DisplayName("a false positive of a filter costs one index, once")
    void falsePositive() {
        PackInfo pack = bucket.publish(
                Stream.generate(() -> entries.entry(5)).limit(4).toArray(Entry[]::new));
        assertAbsent(falsePositive(pack), "GET head", "RANGE pack", MISS);
        for (int i = 0; i < 10; i++) {
            assertAbsent(falsePositive(pack), MISS);
        }
    }

    private Entry falsePositive(PackInfo pack) {
        Id id = entries.id();
        while (!pack.mayContain(id.hash())) {
            id = entries.id();
        }
        return entries.entry(id, 1);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("one machine in a target of a million entries in 1,000 packs: at most 2.3"
            + " requests for an entry that is there, 1.6 for another; filters have 16 bits an id")
    void millionEntries() {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            Entry entry = entries.entry(1);
            PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
            builder.add(entry.id().hash(), PackFixture.encoded(entry), 1);
            for (int j = 1; j < 1000; j++) {
                builder.add(PackFixture.hash(bucket.random()), new byte[] {1}, 1);
            }
            bucket.publish(builder.build());
            all.add(entry);
        }
        try (PackLookupDriver fresh = machine()) {
            store.newRequests();
            for (int i = 0; i < LOOKUPS; i++) {
                Entry wanted = all.get(entries.random().nextInt(all.size()));
                assertThat(fresh.load(wanted)).isHitOf(wanted);
            }
            int present = store.newRequests().size();
            for (int i = 0; i < LOOKUPS; i++) {
                assertThat(fresh.load(entries.entry(1))).isAbsent();
            }
            int absent = store.newRequests().size();
            System.out.printf(
                    Locale.ROOT,
                    "granary.packs: 1,000 packs of 1,000 entries: %.2f requests for an entry that"
                            + " is there, %.2f for another%n",
                    (double) present / LOOKUPS,
                    (double) absent / LOOKUPS);
            assertTrue(present <= 2.3 * LOOKUPS, present + " requests");
            assertTrue(absent <= 1.6 * LOOKUPS, absent + " requests");
        }
    }

    @Test
    @DisplayName("a pack was compacted and removed meanwhile: the head is read once more, and the"
            + " new pack has the entry")
    void replaced() throws Exception {
        PackInfo old = bucket.publish(one);
        PackInfo other = bucket.publish(two);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack");
        bucket.compact();
        bucket.remove(old);
        bucket.remove(other);
        assertHit(one, "RANGE pack", MISS, "GET head", "GET base", "RANGE pack", "RANGE pack");
        assertHit(two, "RANGE pack");
    }

    @Test
    @DisplayName("a pack whose index was never read was compacted meanwhile: found in the new pack,"
            + " too")
    void replacedBeforeItsIndexWasRead() throws Exception {
        bucket.publish(one);
        PackInfo old = bucket.publish(two);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack");
        bucket.compact();
        bucket.remove(old);
        assertHit(two, "RANGE pack", MISS, "GET head", "GET base", "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("a pack is gone without a replacement: a miss, and not requested again before"
            + " the next comparison of the head")
    void missing() {
        PackInfo gone = bucket.publish(one, two);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack");
        bucket.remove(gone);
        assertAbsent(one, "RANGE pack", MISS, "GET head");
        assertAbsent(one, MISS);
        assertAbsent(two, MISS);
        refresh();
        assertAbsent(one, "RANGE pack", MISS, "GET head");
        assertAbsent(one, MISS);
    }

    @Test
    @DisplayName("a pack is gone before its index was read: a miss, and not requested again")
    void missingBeforeItsIndexWasRead() {
        bucket.remove(bucket.publish(one, two));
        assertAbsent(one, "GET head", "RANGE pack", MISS, "GET head");
        assertAbsent(one, MISS);
        assertAbsent(two, MISS);
    }

    @Test
    @DisplayName("a pack is gone, and another one has the entry, too: found there")
    void missingButElsewhere() {
        bucket.publish(one, two);
        PackInfo gone = bucket.publish(one);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack");
        bucket.remove(gone);
        assertHit(one, "RANGE pack", "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack");
    }

    @Test
    @DisplayName("a pack is gone, and the entry is unpacked, too: found there")
    void missingButUnpacked() {
        bucket.remove(bucket.publish(one));
        bucket.placeUnpacked(one);
        assertHit(one, "GET head", "RANGE pack", MISS);
        assertHit(one, MISS);
    }

    @Test
    @DisplayName("an entry is damaged in one pack: the next pack, the unpacked entry, then the"
            + " newest head are tried")
    void damagedInOnePack() {
        PackInfo first = bucket.publish(one);
        PackInfo second = bucket.publish(one);
        bucket.damage(second, one);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack", "RANGE pack", "RANGE pack");
        bucket.damage(first, one);
        bucket.placeUnpacked(one);
        assertHit(one, "RANGE pack", "RANGE pack", MISS);
        store.remove(PackFixture.unpackedKey(one));
        bucket.publish(one);
        assertHit(one, "RANGE pack", "RANGE pack", MISS, "GET head", "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("an entry that is damaged wherever it is: reported with the cause, and the head"
            + " is read once")
    void damagedEntry() {
        PackInfo pack = bucket.publish(one, two);
        bucket.damage(pack, one);
        assertThat(load(one)).isDamaged(DamageKind.CORRUPT);
        assertEquals(
                List.of("GET head", "RANGE pack", "RANGE pack", MISS, "GET head"),
                store.newRequests());
        assertHit(two, "RANGE pack");
        bucket.placeUnpacked(one);
        assertHit(one, "RANGE pack", MISS);
    }

    @Test
    @DisplayName("the whole bucket was emptied and filled again with less: found after the next"
            + " comparison")
    void emptiedAndFilledAgain() {
        bucket.publish(one);
        bucket.publish(two);
        assertThat(load(one)).isHitOf(one);
        assertThat(load(two)).isHitOf(two);
        store.keys().forEach(store::remove);
        assertAbsent(one, "RANGE pack", MISS, "GET head");
        store.pass(Duration.ofSeconds(1));
        Entry three = entries.entry(30);
        bucket.publish(one, three);
        refresh();
        assertHit(one, "RANGE pack", "RANGE pack");
        assertHit(three, "RANGE pack");
        assertAbsent(two, MISS);
    }

    private void flipLastBit(String key) {
        byte[] body = store.body(key);
        body[body.length - 1] ^= 1;
        store.place(key, body);
    }

    @Test
    @DisplayName("a damaged index is read twice, once for all lookups: what the pack may have is"
            + " damaged, never absent, unless it is unpacked; other packs have hits")
    void damagedIndex() {
        bucket.publish(one);
        PackInfo bad = bucket.publish(one, two);
        Entry three = entries.entry(30);
        bucket.placeUnpacked(three);
        String key = PackFixture.KEYS.pack(bad.name());
        flipLastBit(key);
        assertThat(load(two)).isDamaged(DamageKind.CORRUPT);
        assertEquals(
                List.of("GET head", "RANGE pack", "RANGE pack", MISS, "GET head"),
                store.newRequests());
        for (int i = 0; i < 3; i++) {
            assertThat(load(two)).isDamaged(DamageKind.CORRUPT);
            assertEquals(List.of(MISS), store.newRequests());
        }
        assertHit(one, "RANGE pack", "RANGE pack");
        assertHit(three, MISS);
        assertAbsent(entries.entry(1), MISS);
        bucket.placeUnpacked(two);
        assertHit(two, MISS);
        store.remove(PackFixture.unpackedKey(two));
        flipLastBit(key);
        refresh();
        assertHit(two, "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("the index of a pack is cut off: its entries are damaged, never absent")
    void shortPack() {
        PackInfo bad = bucket.publish(one, two);
        String key = PackFixture.KEYS.pack(bad.name());
        byte[] body = store.body(key);
        for (long length : List.of(0L, bad.indexOffset(), bad.bytes() - 1)) {
            store.place(key, Arrays.copyOf(body, (int) length));
            try (PackLookupDriver fresh = machine()) {
                for (Entry entry : List.of(one, two, one)) {
                    assertThat(fresh.load(entry)).isDamaged();
                }
            }
        }
    }

    @Test
    @DisplayName("one wrong answer for an index or a base: it is read again, and the entry is a"
            + " hit")
    void wrongOnce() {
        bucket.publish(one);
        fold();
        String base = PackFixture.KEYS.base(bucket.head().base().orElseThrow());
        String pack = PackFixture.KEYS.pack(bucket.packs().stream()
                .filter(info -> info.mayContain(one.id().hash()))
                .findFirst()
                .orElseThrow()
                .name());
        store.script(
                new Fault.None(),
                new Fault.Meanwhile(() -> flipLastBit(base)),
                new Fault.Meanwhile(() -> flipLastBit(base)),
                new Fault.Meanwhile(() -> flipLastBit(pack)),
                new Fault.Meanwhile(() -> flipLastBit(pack)));
        assertHit(
                one, "GET head", "GET base", "GET base", "RANGE pack", "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack");
    }

    @Test
    @DisplayName("a lost pack that a newer head still names does not end the lookup: the next"
            + " pack has the entry")
    void lostBeforeNewer() {
        PackInfo gone = bucket.publish(one);
        assertThat(load(one)).isHitOf(one);
        bucket.remove(gone);
        assertThat(load(one)).isAbsent();
        bucket.publish(one);
        passMaxAge();
        assertThat(load(one)).isHitOf(one);
    }

    @Test
    @DisplayName("the base is missing: recent packs and unpacked entries are found, and the"
            + " base is requested again with the next head")
    void missingBase() {
        bucket.publish(one);
        fold();
        bucket.publish(two);
        ObjectName base = bucket.head().base().orElseThrow();
        byte[] body = store.body(PackFixture.KEYS.base(base));
        store.remove(PackFixture.KEYS.base(base));
        assertHit(two, "GET head", "GET base", "GET base", "HEAD base", "RANGE pack", "RANGE pack");
        assertAbsent(one, MISS);
        bucket.placeUnpacked(one);
        assertHit(one, MISS);
        store.remove(PackFixture.unpackedKey(one));
        store.place(PackFixture.KEYS.base(base), body);
        refresh();
        assertHit(one, "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("the base has other content than its name says, or none: what is neither in a"
            + " recent pack nor unpacked is damaged, until a later comparison reads the base")
    void damagedBase() {
        bucket.publish(one);
        fold();
        bucket.publish(two);
        String key = PackFixture.KEYS.base(bucket.head().base().orElseThrow());
        byte[] body = store.body(key);
        for (byte[] damaged :
                List.of(new byte[0], Arrays.copyOf(body, body.length - 1), new byte[body.length])) {
            store.place(key, damaged);
            try (PackLookupDriver fresh = machine()) {
                for (Entry entry : List.of(one, entries.entry(1), one)) {
                    assertThat(fresh.load(entry)).isDamaged(DamageKind.CORRUPT);
                }
                assertThat(fresh.load(two)).isHitOf(two);
            }
        }
        assertThat(load(one)).isDamaged();
        assertThat(load(one)).isDamaged();
        assertEquals(List.of(MISS), store.newRequests());
        bucket.placeUnpacked(one);
        assertHit(one, MISS);
        store.remove(PackFixture.unpackedKey(one));
        store.place(key, body);
        refresh();
        assertHit(one, "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("the base cannot be read now: an entry that is not found is unavailable, not"
            + " absent, and the base is requested again after five seconds")
    void silenceAtTheBase() {
        bucket.publish(one);
        fold();
        store.script(new Fault.None(), new Fault.Lost(TIMEOUT));
        assertThat(load(one)).isUnavailable();
        assertThat(load(one)).isUnavailable();
        assertEquals(List.of(MISS), store.newRequests());
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(one, MISS, "GET head", "GET base", "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("impossible responses to a range: more bytes than requested are damage, 416 is a"
            + " pack that is cut off, silence is recorded as nothing")
    void strangeAnswers() {
        bucket.publish(one, two);
        assertThat(load(one)).isHitOf(one);
        store.script(new Fault.Lost(TIMEOUT));
        assertThat(load(one)).isUnavailable();
        assertHit(one, "RANGE pack");
        store.script(new Fault.Changed(Fault.Change.LONGER));
        assertThat(load(one)).isDamaged(DamageKind.EXTENDED);
        store.script(new Fault.Lost(new StoreFailure(
                StoreFailure.Kind.NOT_SUPPORTED, 416, "InvalidRange", "too short")));
        assertThat(load(two)).isDamaged(DamageKind.TRUNCATED);
        assertEquals(List.of("RANGE pack", MISS, "GET head"), store.newRequests());
        assertHit(two, "RANGE pack");
    }

    @Test
    @DisplayName("an index that cannot be read now: unavailable, and the next lookup reads it")
    void silenceAtTheIndex() {
        bucket.publish(one);
        store.script(new Fault.None(), new Fault.Lost(TIMEOUT));
        assertThat(load(one)).isUnavailable();
        assertHit(one, "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("the bucket is silent at the first lookup: the entry may be unpacked; the head"
            + " is requested again after five seconds, before absence is reported")
    void silenceAtTheBeginning() {
        bucket.publish(one);
        store.script(new Fault.Lost(TIMEOUT));
        for (int i = 0; i < 3; i++) {
            assertThat(load(one)).isUnavailable();
            assertEquals(i == 0 ? List.of("GET head", MISS) : List.of(MISS), store.newRequests());
        }
        bucket.placeUnpacked(two);
        assertHit(two, MISS);
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(one, MISS, "GET head", "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("a head is compared in the background, by one thread at a time, after 0.5 to 1.5"
            + " intervals")
    void comparison() {
        bucket.publish(one);
        assertThat(load(one)).isHitOf(one);
        bucket.publish(two);
        nanos += INTERVAL.toNanos() / 2 - 1;
        assertAbsent(two, MISS);
        assertTrue(background.isEmpty());
        nanos += INTERVAL.toNanos() + 2;
        for (int i = 0; i < 10; i++) {
            assertAbsent(two, MISS);
        }
        assertEquals(1, background.size());
        store.newRequests();
        background.remove().run();
        assertEquals(List.of("GET head"), store.newRequests());
        assertHit(two, "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack");
        assertTrue(background.isEmpty());
    }

    @Test
    @DisplayName("a head older than three intervals shows no absence: it is read again first,"
            + " and without a response the entry is unavailable")
    void oldHead() {
        bucket.publish(one);
        assertThat(load(one)).isHitOf(one);
        bucket.publish(two);
        passMaxAge();
        store.plan(FaultPlan.when(
                request -> request.key().endsWith("/head"), new Fault.Lost(TIMEOUT)));
        assertThat(load(two)).isUnavailable();
        assertEquals(List.of(MISS, "GET head"), store.newRequests());
        assertHit(one, "RANGE pack");
        store.plan(FaultPlan.SOUND);
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(two, MISS, "GET head", "RANGE pack", "RANGE pack");
        assertAbsent(entries.entry(1), MISS);
    }

    @Test
    @DisplayName("the bucket is silent when the head is compared: the known one stays, and the"
            + " comparison is retried")
    void silenceAtTheComparison() {
        bucket.publish(one);
        assertThat(load(one)).isHitOf(one);
        bucket.publish(two);
        passInterval();
        assertHit(one, "RANGE pack");
        store.script(new Fault.Lost(TIMEOUT));
        background.remove().run();
        assertHit(one, "RANGE pack");
        assertTrue(background.isEmpty());
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(one, "RANGE pack");
        background.remove().run();
        assertThat(load(two)).isHitOf(two);
    }

    @Test
    @DisplayName("a damaged head at the comparison: the known one stays")
    void damagedHead() {
        bucket.publish(one);
        assertThat(load(one)).isHitOf(one);
        store.place(PackFixture.KEYS.head(), new byte[50]);
        refresh();
        assertHit(one, "RANGE pack");
        assertAbsent(two, MISS);
    }

    @Test
    @DisplayName("a pack whose filter the head had no room for is found by its index")
    void withoutFilter() {
        Entry[] many = Stream.generate(() -> entries.entry(1)).limit(40_000).toArray(Entry[]::new);
        bucket.publish(one);
        bucket.publish(many);
        Head head = bucket.head();
        assertTrue(head.recent().getFirst().filter().isEmpty());
        assertHit(many[7], "GET head", "RANGE pack", "RANGE pack");
        assertHit(one, "RANGE pack", "RANGE pack");
        assertAbsent(two, MISS);
    }

    @Test
    @DisplayName("an executor that rejects tasks does not affect lookups")
    void closed() {
        PackLookupDriver closing = new PackLookupDriver(bucket);
        bucket.publish(one);
        assertThat(closing.load(one)).isHitOf(one);
        closing.close();
        bucket.ticker.pass(INTERVAL.multipliedBy(2));
        assertThat(closing.load(one)).isHitOf(one);
        assertThat(closing.load(one)).isHitOf(one);
    }
}
