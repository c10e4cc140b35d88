package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.stream.Stream;

/**
 * Lookups in packs: the number of requests, and the handling of a pack, an index or a bucket that
 * does not match the manifest.
 */
class TargetPackReaderTest {
    private static final Duration INTERVAL = Duration.ofMinutes(1);
    private static final List<String> FIRST_LOOK_UP =
            List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "RANGE pack", "RANGE pack");

    private final PackFixture bucket = new PackFixture("TargetPackReaderTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("TargetPackReaderTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(200);
    private final Queue<Runnable> background = new ArrayDeque<>();
    private long nanos = 1_000_000_000_000L;
    private final PackReader packs = new PackReader(
            store,
            bucket.settings(Optional.empty()),
            new RefreshSchedule(
                    INTERVAL, Duration.ofSeconds(30), () -> nanos, () -> 0, bucket.random()),
            background::add);

    private PackAnswer load(Id id) {
        store.newRequests();
        return packs.load(id, store);
    }

    private void assertHit(Entry entry) {
        assertThat(load(entry.id())).isFinal().isHitOf(entry);
    }

    private void assertLoad(PackAnswer expected, Id id, String... requests) {
        assertEquals(expected, load(id));
        assertEquals(List.of(requests), store.newRequests());
    }

    /** A time longer than a manifest is used without a comparison. */
    private void passInterval() {
        nanos += INTERVAL.multipliedBy(2).toNanos();
    }

    /** Returns an id that the filter of a pack wrongly accepts. */
    private Id falsePositive(PackInfo pack) {
        Id id = entries.id();
        while (!pack.filter().mayContain(id.hash())) {
            id = entries.id();
        }
        return id;
    }

    @Test
    @DisplayName("R12 the first lookup reads hint, manifest and index; then a hit is one range")
    void requests() {
        bucket.publish(one, two);
        assertHit(one);
        assertEquals(FIRST_LOOK_UP, store.newRequests());
        assertHit(two);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        assertEquals(List.of(), List.copyOf(background));
    }

    @Test
    @DisplayName("R12 a target without packs: one request, and then none")
    void noPacks() {
        assertLoad(PackAnswer.NOT_PACKED, one.id(), "GET newest");
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        assertLoad(PackAnswer.NOT_PACKED, two.id());
    }

    @Test
    @DisplayName("R12 10,000 ids in no pack cost no request; a false positive of a filter costs one"
            + " index, once")
    void absent() {
        bucket.seal();
        bucket.publish(one, two);
        load(one.id());
        for (int i = 0; i < 10_000; i++) {
            assertLoad(PackAnswer.ABSENT, entries.id());
        }
        PackInfo later = bucket.publish(
                Stream.generate(() -> entries.entry(5)).limit(12).toArray(Entry[]::new));
        passInterval();
        load(one.id());
        background.remove().run();
        assertLoad(PackAnswer.ABSENT, falsePositive(later), "RANGE pack");
        for (int i = 0; i < 100; i++) {
            assertLoad(PackAnswer.ABSENT, falsePositive(later));
        }
    }

    @Test
    @DisplayName(
            "a pack was replaced and removed meanwhile: the manifest is read once more, and the"
                    + " new pack has the entry")
    void replaced() {
        PackInfo old = bucket.publish(one, two);
        assertHit(one);
        bucket.replace(old, one, two);
        assertHit(two);
        assertEquals(
                List.of(
                        "RANGE pack",
                        "HEAD m2",
                        "HEAD m4",
                        "HEAD m3",
                        "GET newest",
                        "GET m2",
                        "RANGE pack",
                        "RANGE pack"),
                store.newRequests());
        assertHit(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName(
            "a pack whose index was never read was replaced meanwhile: found in the new pack, too")
    void replacedBeforeItsIndexWasRead() {
        bucket.publish(one);
        PackInfo old = bucket.publish(two);
        assertHit(one);
        bucket.replace(old, two);
        assertHit(two);
        assertEquals(
                List.of(
                        "RANGE pack",
                        "HEAD m3",
                        "HEAD m5",
                        "HEAD m4",
                        "GET newest",
                        "GET m3",
                        "RANGE pack",
                        "RANGE pack"),
                store.newRequests());
    }

    @Test
    @DisplayName(
            "R18 a pack is gone without a replacement: a miss, and not requested again before the"
                    + " manifest is read again")
    void missing() {
        PackInfo gone = bucket.publish(one, two);
        assertHit(one);
        bucket.remove(gone);
        assertLoad(
                PackAnswer.NOT_PACKED, one.id(), "RANGE pack", "HEAD m2", "HEAD m1", "GET newest");
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        assertLoad(PackAnswer.NOT_PACKED, two.id());
        assertFalse(packs.isKnown(one.id()));
        passInterval();
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        background.remove().run();
        assertLoad(
                PackAnswer.NOT_PACKED, one.id(), "RANGE pack", "HEAD m2", "HEAD m1", "GET newest");
        assertLoad(PackAnswer.NOT_PACKED, one.id());
    }

    @Test
    @DisplayName("R18 a pack is gone before its index was read: a miss, and not requested again")
    void missingBeforeItsIndexWasRead() {
        bucket.remove(bucket.publish(one, two));
        assertLoad(
                PackAnswer.NOT_PACKED,
                one.id(),
                "GET newest",
                "HEAD m1",
                "HEAD m2",
                "GET m1",
                "RANGE pack");
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        assertLoad(PackAnswer.NOT_PACKED, two.id());
    }

    @Test
    @DisplayName("R18 in a sealed target an id of a lost pack may have an unpacked entry: it is"
            + " compiled and published again")
    void missingAndSealed() {
        PackInfo gone = bucket.publish(one, two);
        bucket.seal();
        assertHit(one);
        bucket.remove(gone);
        for (int i = 0; i < 3; i++) {
            assertEquals(PackAnswer.NOT_PACKED, load(one.id()));
        }
        assertLoad(PackAnswer.NOT_PACKED, two.id());
    }

    @Test
    @DisplayName("R18 a pack is gone, and a younger one has the entry, too: found there")
    void missingButElsewhere() {
        PackInfo gone = bucket.publish(one);
        bucket.publish(one, two);
        assertHit(one);
        bucket.remove(gone);
        assertHit(one);
        assertEquals(
                List.of(
                        "RANGE pack",
                        "HEAD m3",
                        "HEAD m2",
                        "GET newest",
                        "RANGE pack",
                        "RANGE pack"),
                store.newRequests());
    }

    @Test
    @DisplayName("R18 the whole bucket was emptied and filled again with less: found after the next"
            + " comparison")
    void emptiedAndFilledAgain() {
        bucket.publish(one);
        bucket.publish(two);
        bucket.seal();
        assertHit(one);
        assertHit(two);
        store.keys().forEach(store::remove);
        assertEquals(PackAnswer.NOT_PACKED, load(one.id()));
        Entry three = entries.entry(30);
        bucket.publish(one, three);
        passInterval();
        load(entries.id());
        background.remove().run();
        assertHit(one);
        assertHit(three);
        assertLoad(PackAnswer.NOT_PACKED, two.id());
    }

    @Test
    @DisplayName("D6 a damaged index: entries of that pack are misses, entries of others are hits")
    void damagedIndex() {
        PackInfo bad = bucket.publish(one);
        bucket.publish(two);
        byte[] body = store.body(PackFixture.KEYS.pack(bad.name()));
        body[body.length - 1] ^= 1;
        store.place(PackFixture.KEYS.pack(bad.name()), body, ObjectMarks.NONE);
        assertEquals(PackAnswer.NOT_PACKED, load(one.id()));
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        assertHit(two);
    }

    @Test
    @DisplayName(
            "D6 a damaged entry: reported once, with the cause; then it may be unpacked, even in a"
                    + " sealed target")
    void damagedEntry() {
        PackInfo pack = bucket.publish(one, two);
        bucket.seal();
        bucket.damage(pack, one);
        assertThat(load(one.id())).isOpen().isDamaged(DamageKind.CORRUPT);
        assertLoad(PackAnswer.NOT_PACKED, one.id());
        assertFalse(packs.isKnown(one.id()));
        assertHit(two);
        assertTrue(packs.isKnown(two.id()));
        assertLoad(PackAnswer.ABSENT, entries.id());
    }

    @Test
    @DisplayName(
            "A1 a lost pack that a newer manifest still names does not end the lookup: the next"
                    + " pack has the entry")
    void lostBeforeNewer() {
        PackInfo gone = bucket.publish(one);
        assertHit(one);
        bucket.remove(gone);
        assertEquals(PackAnswer.NOT_PACKED, load(one.id()));
        bucket.publish(one);
        nanos += INTERVAL.multipliedBy(RefreshSchedule.MAX_AGE + 1).toNanos();
        assertHit(one);
    }

    @Test
    @DisplayName(
            "impossible responses to a range: more bytes than requested are damage, 416 is a lost"
                    + " pack, silence is recorded as nothing")
    void strangeAnswers() {
        bucket.publish(one, two);
        assertHit(one);
        store.script(new Fault.Lost(TIMEOUT));
        assertThat(load(one.id())).isFinal().isUnavailable();
        assertHit(one);
        store.script(new Fault.Changed(Fault.Change.LONGER));
        assertThat(load(one.id())).isOpen().isDamaged(DamageKind.EXTENDED);
        store.script(new Fault.Lost(new StoreFailure(
                StoreFailure.Kind.NOT_SUPPORTED, 416, "InvalidRange", "too short")));
        assertLoad(
                PackAnswer.NOT_PACKED, two.id(), "RANGE pack", "HEAD m2", "HEAD m1", "GET newest");
    }

    @Test
    @DisplayName("an index that cannot be read now: unavailable, and the next lookup reads it")
    void silenceAtTheIndex() {
        bucket.publish(one);
        store.script(
                new Fault.None(),
                new Fault.None(),
                new Fault.None(),
                new Fault.None(),
                new Fault.Lost(TIMEOUT));
        assertThat(load(one.id())).isFinal().isUnavailable();
        assertHit(one);
        assertEquals(List.of("RANGE pack", "RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName(
            "R16 the bucket is silent at the first lookup: the entry may be unpacked; requested"
                    + " again after five seconds, before absence is reported")
    void silenceAtTheBeginning() {
        bucket.publish(one);
        store.script(new Fault.Lost(TIMEOUT));
        for (int i = 0; i < 3; i++) {
            assertThat(load(one.id())).isOpen().isUnavailable();
            assertEquals(i == 0 ? List.of("GET newest") : List.of(), store.newRequests());
        }
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(one);
    }

    @Test
    @DisplayName(
            "a manifest is compared in the background, by one thread at a time, after 0.5 to 1.5"
                    + " intervals")
    void refresh() {
        bucket.publish(one);
        assertHit(one);
        bucket.publish(two);
        nanos += INTERVAL.toNanos() / 2 - 1;
        assertLoad(PackAnswer.NOT_PACKED, two.id());
        assertTrue(background.isEmpty());
        nanos += INTERVAL.toNanos() + 2;
        for (int i = 0; i < 10; i++) {
            assertLoad(PackAnswer.NOT_PACKED, two.id());
        }
        assertEquals(1, background.size());
        background.remove().run();
        assertEquals(
                List.of("HEAD m2", "HEAD m4", "HEAD m3", "GET newest", "GET m2"),
                store.newRequests());
        assertHit(two);
        assertHit(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        assertTrue(background.isEmpty());
    }

    @Test
    @DisplayName(
            "R16 the bucket is silent when the manifest is compared: the known one stays, and the"
                    + " comparison is retried")
    void silenceAtTheRefresh() {
        bucket.publish(one);
        assertHit(one);
        bucket.publish(two);
        passInterval();
        assertHit(one);
        store.script(new Fault.Lost(TIMEOUT));
        background.remove().run();
        assertHit(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        assertTrue(background.isEmpty());
        nanos += Duration.ofSeconds(5).toNanos();
        assertHit(one);
        background.remove().run();
        assertHit(two);
    }

    @Test
    @DisplayName("D6 a damaged manifest at the comparison: the known one stays")
    void damagedManifest() {
        bucket.publish(one);
        assertHit(one);
        bucket.publish(two);
        store.place(
                PackFixture.KEYS.manifest(2), new byte[50], new ObjectMarks("00".repeat(16), ""));
        passInterval();
        assertHit(one);
        background.remove().run();
        assertHit(one);
        assertEquals(List.of("RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName("an executor that rejects tasks does not affect lookups")
    void closed() {
        PackReader closing = new PackReader(
                store,
                bucket.settings(Optional.empty()),
                INTERVAL,
                Duration.ofSeconds(1),
                () -> nanos);
        bucket.publish(one);
        assertThat(closing.load(one.id(), store)).isFinal().isHit();
        closing.close();
        passInterval();
        assertThat(closing.load(one.id(), store)).isFinal().isHit();
        assertThat(closing.load(one.id(), store)).isFinal().isHit();
    }

    @Test
    @DisplayName("R11 the packs of one target are not used for another")
    void targets() {
        bucket.publish(one);
        Id other = Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build();
        assertLoad(PackAnswer.NOT_PACKED, other, "GET newest");
        assertHit(one);
        assertEquals(FIRST_LOOK_UP, store.newRequests());
    }
}
