package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Results from known packs: the reads of the manifest and of packs that each of them requires. */
class ConfirmedPacksTest {
    private static final Duration INTERVAL = Duration.ofMinutes(1);
    private static final long HANG_SECONDS = 600; // ends a hanging test

    private final PackFixture bucket = new PackFixture("ConfirmedPacksTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("ConfirmedPacksTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(200);
    private final Queue<Runnable> background = new ArrayDeque<>();
    private long nanos = 1_000_000_000_000L;
    private final PackReader packs = machine();

    private PackReader machine() {
        return machine(store);
    }

    private PackReader machine(ObjectStore over) {
        return new PackReader(
                over,
                bucket.settings(Optional.empty()),
                new RefreshSchedule(
                        INTERVAL,
                        Duration.ofSeconds(HANG_SECONDS),
                        () -> nanos,
                        () -> 0,
                        bucket.random()),
                background::add);
    }

    private PackAnswer load(Id id) {
        return packs.load(id, store);
    }

    private void assertHit(Entry entry) {
        assertThat(load(entry.id())).isFinal().isHitOf(entry);
    }

    /** Compares the manifest with the bucket's, as the background thread does once per interval. */
    private void compare() {
        nanos += INTERVAL.multipliedBy(2).toNanos();
        load(entries.id());
        store.newRequests();
        background.remove().run();
    }

    private long ranges() {
        return store.newRequests().stream().filter("RANGE pack"::equals).count();
    }

    /**
     * Runs an action just before the range of that number, counted from 1; its own requests are not
     * counted.
     */
    private void beforeRange(int number, Runnable event) {
        AtomicInteger seen = new AtomicInteger();
        AtomicBoolean isBusy = new AtomicBoolean();
        store.beforeEach(() -> {
            if (!isBusy.get()
                    && store.namedRequests().getLast().equals("RANGE pack")
                    && seen.incrementAndGet() == number) {
                isBusy.set(true);
                event.run();
                isBusy.set(false);
            }
        });
    }

    /** Returns an id that a pack does not have, and that its filter accepts or rejects. */
    private Id idOf(PackInfo pack, boolean isInFilter) {
        Id id = entries.id();
        while (pack.filter().mayContain(id.hash()) != isInFilter) {
            id = entries.id();
        }
        return id;
    }

    /** Returns an id that all filters reject. */
    private Id idOfNone() {
        List<PackInfo> all = bucket.newest().packs();
        return Stream.generate(entries::id)
                .filter(id -> all.stream().noneMatch(pack -> pack.filter().mayContain(id.hash())))
                .findFirst()
                .orElseThrow();
    }

    @Test
    @DisplayName(
            "B7 D6 an entry is damaged, and it is unknown whether a newer pack has it: reported as"
                    + " damaged, not as unknown")
    void damagedAndUnconfirmed() {
        PackInfo pack = bucket.publish(one);
        assertHit(one);
        bucket.damage(pack, one);
        nanos += INTERVAL.multipliedBy(4).toNanos();
        store.plan(
                FaultPlan.when(request -> request.key().contains("/m/"), new Fault.Lost(TIMEOUT)));
        assertThat(load(one.id())).isOpen().isDamaged();
    }

    @Test
    @DisplayName("D6 an entry is damaged in six packs: four of them are read, and it is reported as"
            + " damaged")
    void damagedEverywhere() {
        for (int i = 0; i < 6; i++) {
            bucket.damage(bucket.publish(one), one);
        }
        store.newRequests();
        assertThat(load(one.id())).isOpen().isDamaged();
        assertEquals(2 * 4, ranges(), "an index and an entry of each");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("R18 D6 packs vanish during both passes of a lookup: no third pass, damage is"
            + " reported, and no absence")
    void lostTwice(boolean isDamagedElsewhere) {
        if (isDamagedElsewhere) {
            bucket.damage(bucket.publish(one), one);
        }
        bucket.remove(bucket.publish(one));
        bucket.seal();
        load(idOfNone()); // reads the manifest, and no index
        // after an index and an entry of the pack where it is damaged
        int first = isDamagedElsewhere ? 3 : 1;
        beforeRange(first, () -> {
            bucket.remove(bucket.publish(one));
            // after that entry once more
            beforeRange(isDamagedElsewhere ? 2 : 1, () -> bucket.publish(one));
        });
        PackAnswer answer = load(one.id());
        if (isDamagedElsewhere) {
            assertThat(answer).isOpen().isDamaged();
        } else {
            assertEquals(PackAnswer.NOT_PACKED, answer);
        }
    }

    @Test
    @DisplayName(
            "B7 another thread reads the manifest during a lookup: an id that the older one does"
                    + " not have is searched again")
    void confirmedMeanwhile() {
        PackInfo pack = bucket.publish(
                Stream.generate(() -> entries.entry(5)).limit(12).toArray(Entry[]::new));
        bucket.seal();
        load(idOf(pack, false)); // reads no index
        Entry wanted = entries.entry(idOf(pack, true), 100);
        nanos += INTERVAL.multipliedBy(4).toNanos();
        beforeRange(1, () -> {
            bucket.publish(wanted);
            background.remove().run();
        });
        assertHit(wanted);
    }

    @Test
    @DisplayName(
            "A3 a pack with an entry is gone, and another one has it, too: held; both are gone:"
                    + " not held")
    void heldByAnotherPack() {
        PackInfo first = bucket.publish(one);
        PackInfo second = bucket.publish(one, two);
        PackReader other = machine();
        for (PackReader machine : List.of(packs, other)) { // both indexes are known then
            assertThat(machine.load(one.id(), store)).isFinal().isHit();
            assertThat(machine.load(two.id(), store)).isFinal().isHit();
        }
        bucket.remove(first);
        assertTrue(packs.holds(one.id(), store));
        bucket.remove(second);
        assertFalse(other.holds(one.id(), store));
    }

    @Test
    @DisplayName(
            "A3 a confirmation covers earlier marks without another request, whatever was compared"
                    + " since; a later mark has the manifest read anew")
    void marks() {
        bucket.publish(one);
        assertHit(one);
        List<String> reading = List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "GET newest");
        long before = packs.mark(one.id());
        store.newRequests();
        assertTrue(packs.confirm(one.id(), before, store));
        assertEquals(reading, store.newRequests());
        long after = packs.mark(one.id());
        compare();
        store.newRequests();
        assertTrue(packs.confirm(one.id(), before, store));
        assertEquals(List.of(), store.newRequests());
        assertTrue(packs.confirm(one.id(), after, store), "a comparison begins at what is known");
        assertEquals(reading, store.newRequests());
    }

    @Test
    @DisplayName("A3 a mark that was taken while the manifest was being read: that read does not"
            + " confirm it")
    void markDuringReading() {
        bucket.publish(one);
        long[] during = {-1};
        store.beforeEach(() -> during[0] = during[0] < 0 ? packs.mark(one.id()) : during[0]);
        assertTrue(packs.confirm(one.id(), packs.mark(one.id()), store));
        store.newRequests();
        assertTrue(packs.confirm(one.id(), during[0], store));
        assertEquals(5, store.newRequests().size());
    }

    @Test
    @DisplayName("A3 a pack counted as lost after one wrong response: it is requested again after a"
            + " confirmation")
    void confirmedAfterWrongAnswer() {
        bucket.publish(one);
        ObjectStore lying = new ForwardingStore(store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return GetResult.ABSENT;
            }
        };
        assertEquals(PackAnswer.NOT_PACKED, packs.load(one.id(), lying));
        assertFalse(packs.holds(one.id(), store));
        assertTrue(packs.confirm(one.id(), packs.mark(one.id()), store));
        assertTrue(packs.holds(one.id(), store));
    }

    @Test
    @DisplayName("R12 two threads confirm one mark at once: the manifest is read once")
    void confirmedByTwo() throws Exception {
        bucket.publish(one);
        long mark = packs.mark(one.id());
        CompletableFuture<Boolean> confirmed = new CompletableFuture<>();
        Thread second = Thread.ofPlatform()
                .daemon()
                .unstarted(() -> confirmed.complete(packs.confirm(one.id(), mark, store)));
        store.newRequests();
        store.beforeEach(() -> {
            if (second.getState() == Thread.State.NEW) {
                second.start();
                // for the thread that reads
                Await.holds(
                        () -> !second.isAlive() || second.getState() == Thread.State.TIMED_WAITING);
            }
        });
        assertTrue(packs.confirm(one.id(), mark, store));
        assertTrue(confirmed.get(HANG_SECONDS, TimeUnit.SECONDS));
        assertEquals(
                List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "GET newest"),
                store.newRequests());
    }

    /** Makes the bucket silent after an unpacked entry was stored. */
    private void storeUnpackedWithoutResponse() {
        store.plan(
                FaultPlan.when(request -> request.key().contains("/m/"), new Fault.Lost(TIMEOUT)));
        assertThat(packs.unseal(two.id()).orElseThrow()).isUnknown();
        store.plan(FaultPlan.SOUND);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("B8 stored unpacked without a response, and sealed or about to be since: the next"
            + " possible comparison commits that unpacked entries are possible")
    void storedUnpacked(boolean isSealed) {
        bucket.publish(one);
        assertHit(one);
        storeUnpackedWithoutResponse();
        if (isSealed) {
            bucket.seal();
        } else {
            bucket.intendToSeal();
        }
        PackManifest.UnpackedEntries before = bucket.newest().unpackedEntries();
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/0") && request.operation().startsWith("PUT"),
                new Fault.Lost(DENIED)));
        compare();
        assertEquals(before, bucket.newest().unpackedEntries());
        store.plan(FaultPlan.SOUND);
        compare();
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
    }

    @Test
    @DisplayName(
            "B8 stored unpacked without a response, and not sealed: comparisons cost no further"
                    + " request")
    void storedUnpackedAndNotSealed() {
        bucket.publish(one);
        assertHit(one);
        storeUnpackedWithoutResponse();
        compare();
        assertEquals(List.of("HEAD m2", "HEAD m1", "GET newest"), store.newRequests());
    }

    @Test
    @DisplayName(
            "B8 stored unpacked without a response into a target without packs, whose first packs"
                    + " are sealed: still recorded, and committed")
    void storedUnpackedBeforeTheFirstPack() {
        load(one.id());
        storeUnpackedWithoutResponse();
        compare();
        bucket.publish(one);
        bucket.seal();
        compare();
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
    }

    @Test
    @DisplayName("B8 the outcome of the commit for unpacked entries is unknown: so is the result")
    void unsealedWithoutResponse() {
        bucket.publish(one);
        bucket.seal();
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/0") && request.operation().startsWith("PUT"),
                new Fault.Lost(TIMEOUT)));
        assertThat(packs.unseal(two.id()).orElseThrow()).isUnknown();
    }

    @Test
    @DisplayName("B8 the commit for unpacked entries is refused: the result is a failure")
    void unsealedRefused() {
        bucket.publish(one);
        bucket.seal();
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/0") && request.operation().startsWith("PUT"),
                new Fault.Lost(DENIED)));
        assertThat(packs.unseal(two.id()).orElseThrow()).isFailed();
    }

    @Test
    @DisplayName("B8 stored unpacked without a response, and sealed since: a lookup that reads the"
            + " manifest writes nothing, the next comparison in the background does")
    void lookupWritesNothing() {
        bucket.publish(one);
        assertHit(one);
        storeUnpackedWithoutResponse();
        bucket.seal();
        nanos += INTERVAL.multipliedBy(100).toNanos(); // too old to show that an id is absent
        ObjectStore lookups = new ForwardingStore(store) {};
        store.newRequests();
        packs.load(entries.id(), lookups);
        List<String> requests = store.newRequests();
        assertTrue(requests.contains("GET newest"), requests::toString);
        assertTrue(
                requests.stream().noneMatch(request -> request.startsWith("PUT")),
                requests::toString);
        background.remove().run();
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
    }

    @ParameterizedTest
    @CsvSource({"0, true", "1, true", "2, true", "1000, true", "1, false", "2, false", "1000, false"
    })
    @DisplayName(
            "B8 stored unpacked into a target that was sealed meanwhile, and wrong responses hide"
                    + " the hint: success only if lookups find the entry")
    void garbledHint(int times, boolean isTooLarge) {
        AtomicInteger left = new AtomicInteger();
        GetResult garbage = isTooLarge
                ? new GetResult.TooLarge(10)
                : new GetResult.Found(
                        MemorySegment.ofArray(new byte[] {'x'}), "e", ObjectMarks.NONE);
        PackReader reader = machine(new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                return key.equals(PackFixture.KEYS.hint()) && left.getAndDecrement() > 0
                        ? garbage
                        : super.get(key, limit);
            }
        });
        reader.load(two.id(), store); // no packs yet
        bucket.publish(one);
        bucket.seal();
        left.set(times);
        boolean isSuccess = reader.unseal(two.id()).isEmpty();
        assertEquals(
                isSuccess,
                bucket.newest().unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE);
        assertTrue(isSuccess || times > 1);
    }

    /** Responses that deny reads of packs, and optionally of the hint. */
    private ObjectStore denying(boolean isHintDenied) {
        StoreFailure no = new StoreFailure(StoreFailure.Kind.DENIED, 403, "", "Forbidden");
        return new ForwardingStore(store) {
            @Override
            public HeadResult head(String key) {
                return key.endsWith(".pack") ? new HeadResult.Unavailable(no) : super.head(key);
            }

            @Override
            public GetResult get(String key, long limit) {
                return isHintDenied && key.equals(PackFixture.KEYS.hint())
                        ? new GetResult.Unavailable(no)
                        : super.get(key, limit);
            }
        };
    }

    @Test
    @DisplayName(
            "B1 B2 the presence of a pack: its length counts, 403 is absence only if the hint can"
                    + " be read, and silence proves nothing")
    void presence() {
        PackInfo pack = bucket.publish(one);
        String key = PackFixture.KEYS.pack(pack.name());
        assertEquals(PackPresence.THERE, PackPresence.of(pack, PackFixture.KEYS, store));
        assertEquals(PackPresence.GONE, PackPresence.of(pack, PackFixture.KEYS, denying(false)));
        assertEquals(PackPresence.UNKNOWN, PackPresence.of(pack, PackFixture.KEYS, denying(true)));
        store.script(new Fault.Lost(TIMEOUT));
        assertEquals(PackPresence.UNKNOWN, PackPresence.of(pack, PackFixture.KEYS, store));
        store.script(new Fault.Lost(DENIED)); // found by the next request
        assertEquals(PackPresence.UNKNOWN, PackPresence.of(pack, PackFixture.KEYS, store));
        // the hint is read, and then the bucket is silent
        store.script(new Fault.Lost(DENIED), new Fault.None(), new Fault.Lost(TIMEOUT));
        assertEquals(PackPresence.UNKNOWN, PackPresence.of(pack, PackFixture.KEYS, store));
        store.place(key, new byte[50], store.marks(key));
        assertEquals(PackPresence.GONE, PackPresence.of(pack, PackFixture.KEYS, store));
        bucket.remove(pack);
        store.script(new Fault.Lost(DENIED)); // absent by the next request
        assertEquals(PackPresence.GONE, PackPresence.of(pack, PackFixture.KEYS, store));
        assertEquals(PackPresence.GONE, PackPresence.of(pack, PackFixture.KEYS, store));
    }

    @Test
    @DisplayName("B2 without s3:ListBucket a pack is gone before its index was read: entries of a"
            + " younger pack are found")
    void forbiddenIndex() {
        PackInfo gone = bucket.publish(one);
        bucket.publish(one);
        bucket.remove(gone);
        ObjectStore limited = new WithoutListing(store);
        PackAnswer answer = packs.load(one.id(), limited);
        assertThat(answer).isFinal().isHit();
    }

    @Test
    @DisplayName(
            "R12 a pack is lost, and the manifest is unchanged and thus confirmed: absent ids cost"
                    + " no request afterwards")
    void confirmedByALoss() {
        PackInfo pack = bucket.publish(one);
        assertHit(one);
        nanos += INTERVAL.multipliedBy(2).toNanos();
        bucket.remove(pack);
        assertEquals(PackAnswer.NOT_PACKED, load(one.id()));
        nanos += INTERVAL.multipliedBy(2).toNanos();
        store.newRequests();
        assertEquals(PackAnswer.NOT_PACKED, load(idOf(pack, false)));
        assertEquals(List.of(), store.newRequests());
    }

    @Test
    @DisplayName(
            "D6 another pack is stored under the key of a named one: its index is not used for the"
                    + " named one")
    void packOfAnother() {
        PackInfo mine = bucket.publish(one);
        PackInfo another = bucket.publish(entries.entry(idOf(mine, false), 100));
        PackInfo named = new PackInfo(
                another.name(),
                another.bytes(),
                another.indexOffset(),
                another.entries(),
                0,
                mine.filter());
        assertInstanceOf(
                PackIndexReader.IndexResult.Ok.class,
                PackIndexReader.read(another, PackFixture.KEYS, PackIndexCache.NONE, store));
        assertInstanceOf(
                PackIndexReader.IndexResult.Lost.class,
                PackIndexReader.read(named, PackFixture.KEYS, PackIndexCache.NONE, store));
    }
}
