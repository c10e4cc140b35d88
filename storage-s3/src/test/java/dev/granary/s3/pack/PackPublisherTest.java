package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.Race;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Publishing in packs: every listener gets the result of its entry, a stored entry is found, and
 * the head names no pack that was not written.
 */
class PackPublisherTest {
    private static final String HEAD = PackFixture.KEYS.head();

    /** A clock that stands still. If pauses advanced it, a swap would soon reach its limit. */
    private static final Ticker STOPPED = new Ticker() {
        @Override
        public long nanos() {
            return 0;
        }

        @Override
        public void pause(Duration duration) {
            Thread.onSpinWait();
        }
    };

    private final PackFixture bucket = new PackFixture("PackPublisherTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackPublisherTest");
    private final PackPublisher publisher = bucket.publisher();
    private final List<StoreResult> results = Collections.synchronizedList(new ArrayList<>());
    private final List<String> evidence = Collections.synchronizedList(new ArrayList<>());

    private List<Entry> some(int count) {
        return IntStream.range(0, count).mapToObj(i -> entries.entry(100 + i)).toList();
    }

    private void add(List<Entry> all) {
        all.forEach(entry -> assertTrue(publisher.add(entry, results::add)));
    }

    /** Returns a publisher with a clock and a way of publishing unpacked of its own. */
    private PackPublisher publisher(
            ObjectStore over, Ticker ticker, Function<Entry, StoreResult> unpacked) {
        Register register = new Register(over, PackFixture.KEYS, bucket.random(), ticker);
        return new PackPublisher(register, new PackNamer(register, evidence::add), unpacked);
    }

    private StoreResult notUnpacked(Entry entry) {
        throw new AssertionError("published unpacked: " + entry.id() + "; evidence: " + evidence);
    }

    private static void assertStored(List<StoreResult> all) {
        all.forEach(result -> assertThat(result).isStored());
    }

    private void assertAllFound(List<Entry> all) {
        try (PackLookupDriver machine = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), machine.lost(all));
        }
    }

    /** Asserts that every named pack exists, once. */
    private void assertSoundHead() {
        Set<ObjectName> names = new HashSet<>();
        for (PackInfo pack : bucket.packs()) {
            assertTrue(names.add(pack.name()), () -> "twice: " + pack.name());
            assertEquals(pack.bytes(), store.body(PackFixture.KEYS.pack(pack.name())).length);
        }
    }

    private long unpacked() {
        return store.keys().stream().filter(key -> key.contains("/e/")).count();
    }

    @Test
    @DisplayName("100 entries are one pack, written before the head names it; every listener gets"
            + " the length of its own entry; the first swap is read back")
    void good() {
        List<Entry> all = some(100);
        add(all);
        assertEquals(List.of(), store.namedRequests());
        assertEquals(List.of(), results);
        publisher.finish();
        assertEquals(
                List.of("GET head", "PUT head", "PUT pack", "REPLACE head", "GET head"),
                store.newRequests());
        assertEquals(100, results.size());
        PackInfo pack = bucket.head().recent().getFirst();
        assertEquals(
                pack.indexOffset() - PackIndex.HEADER_BYTES,
                results.stream()
                        .mapToLong(result -> assertThat(result).isStored())
                        .sum());
        assertAllFound(all);
        store.newRequests();
        publisher.finish();
        assertEquals(List.of(), store.newRequests());
        List<Entry> more = some(1);
        assertStored(PackFixture.publish(publisher, more));
        assertEquals(List.of("GET head", "PUT pack", "REPLACE head"), store.newRequests());
        assertAllFound(more);
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
        assertEquals(1, bucket.packs().getFirst().entries());
    }

    @Test
    @DisplayName("a full pack is written at once, and another is begun")
    void full() {
        List<Entry> all =
                IntStream.range(0, 9).mapToObj(_ -> entries.entry(5 << 20)).toList();
        add(all);
        assertEquals(7, results.size());
        publisher.finish();
        assertEquals(9, results.size());
        assertEquals(
                List.of(2, 7), bucket.packs().stream().map(PackInfo::entries).toList());
        assertTrue(bucket.packs().getLast().bytes() < PackBuilder.FULL_BYTES + (6 << 20));
        assertAllFound(all);
    }

    @Test
    @DisplayName("an entry that is too large for a pack is not added, and its listener not called")
    void tooLarge() {
        assertFalse(publisher.add(entries.entry(PackIndex.MAX_ENTRY_BYTES), results::add));
        publisher.finish();
        assertEquals(List.of(), store.namedRequests());
        assertEquals(List.of(), results);
    }

    @Test
    @DisplayName("a pack is published with the first entry that comes three minutes after its own")
    void interval() {
        add(some(2));
        bucket.ticker.pass(Duration.ofMinutes(3));
        add(some(1));
        assertEquals(List.of(), results);
        bucket.ticker.pass(Duration.ofNanos(1));
        add(some(1));
        assertEquals(4, results.size());
        bucket.ticker.pass(Duration.ofHours(1));
        add(some(1));
        assertEquals(4, results.size(), "the time of an empty pack does not count");
    }

    @Test
    @DisplayName("an entry that is damaged in its pack is published again: readers take the"
            + " newest pack first")
    void again() {
        List<Entry> all = some(3);
        bucket.damage(bucket.publish(bucket.pack(all)), all.get(1));
        assertFalse(bucket.isFound(all.get(1)));
        assertStored(PackFixture.publish(publisher, List.of(all.get(1))));
        assertAllFound(all);
    }

    @Test
    @DisplayName("another writer adds a pack meanwhile: both are named")
    void twoWriters() {
        List<Entry> theirs = some(3);
        List<Entry> ours = some(3);
        PackPublisher overtaken = publisher(
                new ForwardingStore(store) {
                    private boolean isDone;

                    @Override
                    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                        if (!isDone) {
                            isDone = true;
                            assertStored(PackFixture.publish(bucket.publisher(), theirs));
                        }
                        return super.replaceIfMatch(key, etag, body);
                    }
                },
                bucket.ticker,
                this::notUnpacked);
        assertStored(PackFixture.publish(overtaken, ours));
        assertEquals(2, bucket.head().recent().size());
        assertSoundHead();
        assertAllFound(theirs);
        assertAllFound(ours);
        assertEquals(List.of(), evidence);
    }

    @Test
    @DisplayName("the 64th pack and its like fold the recent ones into a base; each pack is named"
            + " once, with a filter, even if the head had no room for it")
    void folds() {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 130; i++) {
            Entry entry = entries.entry(100);
            bucket.publish(pack(entry, i < 70 && i % 2 == 0 ? 1_100 : 0));
            all.add(entry);
            assertTrue(bucket.head().recent().size() < Head.FOLDED);
        }
        assertEquals(2, bucket.head().recent().size());
        assertEquals(130, bucket.packs().size());
        assertSoundHead();
        assertTrue(bucket.packs().stream().allMatch(pack -> pack.filter().isPresent()));
        assertAllFound(all);
        assertEquals(2, store.keys().stream().filter(key -> key.contains("/m/")).count());
    }

    /** Returns a pack of an entry and of that many others, which no lookup asks for. */
    private PackBuilder.Pack pack(Entry entry, int others) {
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        builder.add(entry.id().hash(), PackFixture.encoded(entry), 1);
        for (int i = 0; i < others; i++) {
            builder.add(PackFixture.hash(bucket.random()), new byte[] {1}, 1);
        }
        return builder.build();
    }

    @Test
    @DisplayName("200 packs of 8 publishers at once are all named, none is published unpacked, and"
            + " nothing disproves the server")
    void atOnce() throws Exception {
        List<List<Entry>> batches = Stream.generate(() -> some(2)).limit(200).toList();
        Race.run(8, number -> {
            PackPublisher one = publisher(store, STOPPED, this::notUnpacked);
            for (int i = number; i < batches.size(); i += 8) {
                assertStored(PackFixture.publish(one, batches.get(i)));
            }
            return number;
        });
        assertEquals(200, bucket.packs().size());
        assertSoundHead();
        assertAllFound(batches.stream().flatMap(List::stream).toList());
        assertEquals(List.of(), evidence);
    }

    private static List<Fault> faults() {
        return Fault.each();
    }

    @ParameterizedTest
    @MethodSource("faults")
    @DisplayName("each fault at each request of a first publication and of a fold: every listener"
            + " gets a result, a stored entry is found, and so is every earlier one")
    void faults(Fault fault) {
        for (int packs : List.of(0, 2, Head.FOLDED - 1)) {
            List<Entry> before = some(packs);
            before.forEach(bucket::publish);
            boolean isReached = true;
            for (int n = 0; isReached; n++) {
                isReached = isSound(fault, n, before);
            }
            store.keys().forEach(store::remove);
        }
    }

    /** Checks a publication with a fault of one request; returns false if it sent fewer. */
    private boolean isSound(Fault fault, int number, List<Entry> before) {
        PackFixture faulty = new PackFixture("PackPublisherTest");
        store.keys().forEach(key -> faulty.store.place(key, store.body(key)));
        AtomicInteger requests = new AtomicInteger();
        faulty.store.plan(_ -> requests.getAndIncrement() == number ? fault : new Fault.None());
        List<Entry> all = some(2);
        List<StoreResult> now = byEntry(faulty.publisher(), all);
        boolean isReached = requests.get() > number;
        faulty.store.land();
        faulty.store.plan(FaultPlan.SOUND);
        String when = fault + " at request " + number + " after " + before.size() + " packs";
        assertEquals(2, now.size(), when);
        List<Entry> stored = new ArrayList<>(before);
        for (int i = 0; i < all.size(); i++) {
            if (now.get(i) instanceof StoreResult.Stored) {
                stored.add(all.get(i));
            }
        }
        try (PackLookupDriver machine = new PackLookupDriver(faulty)) {
            assertEquals(List.of(), machine.lost(stored), when);
        }
        return isReached;
    }

    @Test
    @DisplayName("the outcome of the swap is unknown: the entries are published unpacked as well")
    void unknownSwap() {
        List<Entry> all = some(3);
        store.plan(FaultPlan.when(
                request -> request.operation().equals("PUT match"), new Fault.AnswerLost(TIMEOUT)));
        add(all.subList(0, 2));
        publisher.finish();
        store.plan(FaultPlan.SOUND);
        assertStored(results);
        assertEquals(1, bucket.packs().size(), "the next read showed that the swap was done");
        assertEquals(0, unpacked());
        store.plan(FaultPlan.when(
                request -> request.operation().equals("PUT match"), new Fault.Lost(TIMEOUT)));
        add(all.subList(2, 3));
        publisher.finish();
        store.plan(FaultPlan.SOUND);
        assertStored(results);
        assertEquals(1, unpacked());
        assertAllFound(all);
    }

    @Test
    @DisplayName("a pack cannot be written or named: each listener gets the result of its entry,"
            + " published unpacked")
    void unpackedInstead() {
        for (FaultPlan plan : List.of(
                FaultPlan.when(request -> request.key().endsWith(".pack"), new Fault.Lost(DENIED)),
                FaultPlan.when(request -> request.key().endsWith(".pack"), new Fault.Lost(TIMEOUT)),
                FaultPlan.when(request -> request.key().equals(HEAD), new Fault.Lost(TIMEOUT)),
                FaultPlan.when(
                        request -> request.operation().startsWith("PUT")
                                && request.key().equals(HEAD),
                        new Fault.Lost(DENIED)))) {
            List<Entry> all = some(3);
            StoreResult refused = new StoreResult.Failed("too large for this server");
            PackPublisher limited = publisher(
                    store,
                    bucket.ticker,
                    entry -> entry.id().equals(all.get(1).id())
                            ? refused
                            : new StoreResult.Stored(7));
            store.plan(plan);
            assertEquals(
                    List.of(
                            (StoreResult) new StoreResult.Stored(7),
                            refused,
                            new StoreResult.Stored(7)),
                    byEntry(limited, all));
        }
    }

    private static List<StoreResult> byEntry(PackPublisher publisher, List<Entry> all) {
        Map<Integer, StoreResult> each = new TreeMap<>();
        for (int i = 0; i < all.size(); i++) {
            int index = i;
            assertTrue(publisher.add(all.get(i), result -> each.put(index, result)));
        }
        publisher.finish();
        return List.copyOf(each.values());
    }

    @Test
    @DisplayName("the base is lost: no fold makes a new one of what is left; packs stay recent")
    void lostBase() {
        for (int i = 0; i < 2 * Head.FOLDED - 1; i++) {
            bucket.publish(bucket.pack(some(1)));
        }
        ObjectName base = bucket.head().base().orElseThrow();
        store.remove(PackFixture.KEYS.base(base));
        List<Entry> all = some(2);
        assertStored(PackFixture.publish(publisher, all));
        assertEquals(Optional.of(base), bucket.head().base());
        assertEquals(Head.FOLDED, bucket.head().recent().size());
        assertAllFound(all);
    }

    @Test
    @DisplayName("the head was removed: the next publisher begins above it, and does not name"
            + " the former packs")
    void headRemoved() {
        List<Entry> former = some(2);
        PackInfo old = bucket.publish(bucket.pack(former));
        Head before = bucket.head();
        store.remove(HEAD);
        store.pass(Duration.ofSeconds(1));
        List<Entry> all = some(2);
        assertStored(PackFixture.publish(publisher, all));
        assertTrue(bucket.head().boundary() > before.generation());
        assertFalse(bucket.head().admits(old.name()));
        assertEquals(1, bucket.packs().size());
        assertAllFound(all);
    }

    @Test
    @DisplayName("the head was emptied: it is not replaced, since an answer may be wrong;"
            + " entries are published unpacked")
    void headEmptied() {
        bucket.publish(bucket.pack(some(2)));
        store.place(HEAD, new byte[0]);
        List<Entry> all = some(2);
        assertStored(PackFixture.publish(publisher, all));
        assertEquals(0, store.body(HEAD).length);
        assertEquals(2, unpacked());
    }

    /** Returns a publisher before whose first swap an event occurs. */
    private PackPublisher suspended(Runnable event) {
        return publisher(
                new ForwardingStore(store) {
                    private boolean isOver;

                    @Override
                    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                        if (!isOver) {
                            isOver = true;
                            event.run();
                        }
                        WriteResult result = super.replaceIfMatch(key, etag, body);
                        assertSoundHead();
                        return result;
                    }
                },
                bucket.ticker,
                this::notUnpacked);
    }

    @Test
    @DisplayName("a publisher is suspended before its swap, and its pack is removed meanwhile: it"
            + " is written again, and the removed one is never named")
    void belowBoundary() {
        bucket.publish(bucket.pack(some(1)));
        List<Entry> all = some(2);
        PackPublisher late = suspended(() -> {
            for (int i = 0; i < 3; i++) {
                try {
                    bucket.remover().run(Duration.ZERO);
                } catch (CompactionException e) {
                    throw new AssertionError(e);
                }
            }
            assertEquals(1, bucket.packObjects(), "the pack of the publisher is gone");
        });
        assertStored(PackFixture.publish(late, all));
        assertEquals(2, bucket.head().recent().size());
        assertAllFound(all);
    }

    @Test
    @DisplayName("the head is removed before the swap: the pack is written again above the new"
            + " boundary")
    void headRemovedMeanwhile() {
        List<Entry> all = some(2);
        PackPublisher late = suspended(() -> {
            store.remove(HEAD);
            store.pass(Duration.ofMinutes(1));
        });
        assertStored(PackFixture.publish(late, all));
        PackInfo named = bucket.packs().getFirst();
        assertEquals(bucket.head().boundary(), named.name().generation());
        assertEquals(2, bucket.packObjects());
        assertAllFound(all);
    }

    @Test
    @DisplayName("a server that ignores conditions is disproved by the first swap that another"
            + " writer overwrote: the entries are published unpacked")
    void ignoredConditions() throws RegisterException {
        Register.Stored stale = bucket.register().readOrCreate();
        List<Entry> all = some(2);
        store.plan(FaultPlan.always(new Fault.Conditioned(ConditionMode.IGNORED)));
        PackInfo theirs = bucket.place(bucket.pack(some(1)), stale.head().generation());
        PackPublisher first = publisher(
                new ForwardingStore(store) {
                    @Override
                    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                        WriteResult result = super.replaceIfMatch(key, etag, body);
                        bucket.register()
                                .swap(
                                        Optional.of(stale),
                                        head -> new Change.Next(head.with(theirs)));
                        return result;
                    }
                },
                bucket.ticker,
                entry -> {
                    bucket.placeUnpacked(entry);
                    return new StoreResult.Stored(1);
                });
        assertEquals(
                Collections.nCopies(2, new StoreResult.Stored(1)), PackFixture.publish(first, all));
        assertEquals(1, evidence.size());
        assertTrue(evidence.getFirst().contains("lost a pack"), evidence::getFirst);
        assertAllFound(all);
    }

    @Test
    @DisplayName("the server reports that a new pack exists, and it is missing or truncated: no"
            + " head names it")
    void reportedAsThere() {
        for (boolean isCut : List.of(true, false)) {
            PackPublisher reported = bucket.publisher(new ForwardingStore(store) {
                @Override
                public WriteResult putIfAbsent(String key, byte[] body) {
                    if (!key.endsWith(".pack")) {
                        return super.putIfAbsent(key, body);
                    }
                    if (isCut) {
                        store.place(key, Arrays.copyOf(body, body.length - 1));
                    }
                    return WriteResult.PRECONDITION_FAILED;
                }
            });
            List<Entry> all = some(2);
            assertStored(PackFixture.publish(reported, all));
            assertEquals(List.of(), bucket.packs());
            assertAllFound(all);
        }
    }

    @Test
    @DisplayName("a store that breaks its contract: every listener gets the failure, and no caller"
            + " waits")
    void brokenStore() {
        PackPublisher broken = bucket.publisher(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body) {
                throw new IllegalStateException("of a test");
            }
        });
        some(2).forEach(entry -> assertTrue(broken.add(entry, results::add)));
        assertThrows(IllegalStateException.class, broken::finish);
        assertEquals(
                2, results.stream().filter(StoreResult.Failed.class::isInstance).count());
    }

    @Test
    @DisplayName("without s3:ListBucket an absent head looks forbidden: entries are published"
            + " unpacked, and in packs once there is a head")
    void withoutListing() throws RegisterException {
        WithoutListing limited = new WithoutListing(store);
        assertStored(PackFixture.publish(bucket.publisher(limited), some(2)));
        assertEquals(List.of(2L, 0L), List.of(unpacked(), bucket.packObjects()));
        bucket.register().readOrCreate();
        List<Entry> all = some(2);
        assertStored(PackFixture.publish(bucket.publisher(limited), all));
        assertEquals(List.of(2L, 1L), List.of(unpacked(), bucket.packObjects()));
        assertAllFound(all);
    }
}
