package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.PinStore;
import dev.granary.s3.BucketCollector.Outcome;
import dev.granary.s3.CollectionPlan.Rules;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackLookupDriver;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Tests of the collection of a bucket: what leaves, what stays, and who may interfere. */
class BucketCollectorTest {
    private static final Duration DAY = Duration.ofDays(1);
    private static final Rules UNUSED = new Rules("", 90, Long.MAX_VALUE, false);
    private static final Rules ALL = new Rules("", 90, Long.MAX_VALUE, true);
    private static final int MAX_RUNS = 1_000;

    private PackFixture bucket = new PackFixture("BucketCollectorTest");
    private RecordingObjectStore store = bucket.store;
    private TestEntries entries = new TestEntries("BucketCollectorTest");
    private Runnable hook = () -> {};
    private long machines;

    /** Goes on with an empty bucket. */
    private void begin(String name) {
        bucket = new PackFixture(name);
        store = bucket.store;
        entries = new TestEntries(name);
    }

    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private Entry entry() {
        return entries.entry(100);
    }

    private List<Entry> entries(int count) {
        return Stream.generate(this::entry).limit(count).toList();
    }

    private Entry published() {
        Entry entry = entry();
        bucket.publish(entry);
        return entry;
    }

    private Entry unpacked() {
        Entry entry = entry();
        bucket.placeUnpacked(entry);
        return entry;
    }

    private BucketCollector collector(ObjectStore over) {
        var settings = bucket.settings(Optional.empty());
        return new BucketCollector(over, settings, new UseNotes(settings.layout(), over, over, 1));
    }

    private BucketPins pins() {
        return new BucketPins(bucket.settings(Optional.empty()).layout(), store);
    }

    private LocalDate today() {
        return CollectionPlan.day(((GetResult.Absent) store.get("absent", 1)).serverMillis());
    }

    /** Writes a note of another machine. */
    private void note(int daysAgo, Entry... used) {
        noteIds(
                daysAgo,
                Stream.of(used).mapToLong(entry -> entry.id().hash().prefix()).toArray());
    }

    private void noteIds(int daysAgo, long... ids) {
        UseNotes notes = new UseNotes(bucket.settings(Optional.empty()).layout(), store, store);
        Arrays.sort(ids);
        notes.write(new UseNotes.UseNote(
                today().minusDays(daysAgo),
                HexFormat.of().toHexDigits(machines++),
                new TreeMap<>(Map.of(PackFixture.NAMESPACE, ids)),
                Map.of()));
    }

    private CollectionPlan plan(Rules rules) throws IOException {
        return collector(store).plan(rules);
    }

    private CollectionPlan.Target target(Rules rules) throws IOException {
        return plan(rules).targets().iterator().next();
    }

    private Outcome collect(Rules rules) throws IOException, CompactionException {
        return collect(rules, store, true);
    }

    private Outcome collect(Rules rules, ObjectStore over, boolean isDeleteExact)
            throws IOException, CompactionException {
        BucketCollector collector = collector(over);
        CollectionPlan plan = collector.plan(rules);
        return collector.collect(plan, plan.targets().iterator().next(), isDeleteExact, _ -> {});
    }

    private static FaultPlan faults(String method, String key, StoreFailure fault) {
        return FaultPlan.when(
                request -> request.operation().equals(method) && request.key().contains(key),
                new Fault.Lost(fault));
    }

    private void assertLost(List<Entry> lost, List<Entry> kept) {
        try (PackLookupDriver machine = new PackLookupDriver(bucket)) {
            assertEquals(
                    lost,
                    machine.lost(Stream.concat(lost.stream(), kept.stream()).toList()));
        }
    }

    @Test
    @DisplayName("entries that no note of the last 90 days names leave, packed and unpacked; used"
            + " ones stay; packs are deleted two days later")
    void unused() throws Exception {
        List<Entry> unused = List.of(entry(), entry(), unpacked());
        List<Entry> used = List.of(entry(), entry(), unpacked());
        bucket.publish(unused.get(0), used.get(0));
        bucket.publish(unused.get(1), used.get(1));
        store.pass(DAY.multipliedBy(200));
        note(200, unused.toArray(Entry[]::new));
        note(91, unused.toArray(Entry[]::new));
        note(89, used.toArray(Entry[]::new));
        CollectionPlan.Target target = target(UNUSED);
        assertEquals(3, target.leaving().entries());
        assertEquals(3, target.staying().entries());
        assertEquals(
                Duration.ofMillis(500).toNanos(),
                target.leaving().compileNanos(),
                "that of unpacked entries is unknown");
        Outcome first = collect(UNUSED);
        assertEquals(List.of(1L, 0L), List.of(first.removed(), first.unremoved()));
        assertLost(unused, used);
        assertEquals(3, bucket.packObjects());
        assertEquals(0, target(UNUSED).leaving().entries());
        assertTrue(target(UNUSED).hasWork(), "packs wait for their removal");
        store.pass(DAY);
        assertEquals(2, collect(UNUSED).removed());
        assertEquals(1, bucket.packObjects());
        assertLost(unused, used);
    }

    @Test
    @DisplayName("what is younger than a day stays, packed or not, by the server's date; what has"
            + " no date stays")
    void young() throws Exception {
        note(100);
        Entry packed = published();
        Entry unpacked = unpacked();
        store.pass(DAY.minusMillis(1));
        note(100);
        collect(UNUSED);
        assertLost(List.of(), List.of(packed, unpacked));
        assertEquals(2, target(ALL).young().entries());
        collect(ALL);
        assertLost(List.of(), List.of(packed, unpacked));
        store.pass(Duration.ofMillis(1));
        ObjectStore withoutDates = new ForwardingStore(store) {
            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return super.list(
                        prefix,
                        one -> visitor.accept(new Listed(one.key(), one.bytes(), one.etag(), 0)));
            }
        };
        collect(UNUSED, withoutDates, true);
        assertLost(List.of(), List.of(packed, unpacked));
        collect(UNUSED);
        assertLost(List.of(packed, unpacked), List.of());
    }

    @Test
    @DisplayName("without notes, or if the first is too new, nothing is known to be unused; a"
            + " budget applies all the same")
    void unknown() throws Exception {
        Entry old = published();
        store.pass(DAY.multipliedBy(300));
        assertFalse(plan(UNUSED).knowsUnused());
        assertEquals(Optional.empty(), plan(UNUSED).firstNote());
        note(89);
        CollectionPlan plan = plan(UNUSED);
        assertFalse(plan.knowsUnused());
        assertEquals(Optional.of(today().minusDays(89)), plan.firstNote());
        collect(UNUSED);
        assertLost(List.of(), List.of(old));
        collect(new Rules("", 90, 0, false));
        assertLost(List.of(old), List.of());
    }

    @Test
    @DisplayName("over a budget the lowest of compile time x uses / bytes leave; no use counts as"
            + " half a one, and only uses of 30 days count")
    void budget() throws Exception {
        Entry cheap = entry();
        Entry twice = entry();
        Entry never = entry();
        Entry large = entries.entry(1_000);
        Entry longAgo = entry();
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        Map.of(cheap, 15L, twice, 10L, never, 38L, large, 100L, longAgo, 36L)
                .forEach((one, nanos) ->
                        builder.add(one.id().hash(), PackFixture.encoded(one), nanos * 1_000_000));
        bucket.publish(builder.build());
        store.pass(DAY.multipliedBy(100));
        note(1, cheap, twice, large);
        note(30, twice);
        note(31, longAgo);
        note(32, longAgo);
        // cheap 15, longAgo 18, never 19, twice 20; large 100 / 4 or so
        List<Entry> order = List.of(cheap, longAgo, never, twice, large);
        long left = target(UNUSED).staying().bytes();
        for (int leaving = 1; leaving < 5; leaving++) {
            left -= PackFixture.encoded(order.get(leaving - 1)).length;
            Rules rules = new Rules("", 90, left, false);
            assertEquals(leaving, target(rules).leaving().entries());
            assertEquals(leaving, target(rules).overBudget().entries());
            assertEquals(
                    leaving + 1,
                    target(new Rules("", 90, left - 1, false)).leaving().entries());
        }
        left += PackFixture.encoded(order.get(3)).length + PackFixture.encoded(order.get(2)).length;
        collect(new Rules("", 90, left, false));
        assertLost(order.subList(0, 2), order.subList(2, 5));
    }

    @Test
    @DisplayName("pinned entries stay, whatever the rule, also if the budget is exceeded")
    void pinned() throws Exception {
        List<Entry> pinned = List.of(published(), unpacked());
        List<Entry> others = List.of(published(), unpacked());
        store.pass(DAY.multipliedBy(100));
        note(100);
        pins().write("product-1.0", pinned.stream().map(Entry::id).toList());
        for (Rules rules : List.of(UNUSED, ALL, new Rules("", 90, 0, false))) {
            assertEquals(2, target(rules).pinned().entries());
            collect(rules);
            assertLost(others, pinned);
        }
        assertEquals(
                target(UNUSED).pinned().bytes(),
                plan(new Rules("", 90, 0, false)).excessBytes());
        List<PinStore.Pin> read = new ArrayList<>();
        pins().read(read::add);
        assertEquals(2, read.getFirst().entries());
        assertTrue(pins().remove("product-1.0"));
        assertFalse(pins().remove("product-1.0"));
        collect(UNUSED);
        assertLost(pinned, List.of());
    }

    @Test
    @DisplayName("a pin that is damaged in any byte, cut, too long or unreadable ends the"
            + " collection, which names it")
    void damagedPin() throws Exception {
        Entry pinned = published();
        store.pass(DAY.multipliedBy(100));
        note(100);
        assertEquals(Optional.empty(), pins().write("p", List.of(pinned.id())));
        byte[] sound = store.body("pin/p");
        for (int i = 0; i < sound.length; i++) {
            byte[] changed = sound.clone();
            changed[i] ^= 1;
            store.place("pin/p", changed);
            assertStops("pin p is damaged");
        }
        for (String odd : List.of("", "x", "x\n{}", new String(sound, UTF_8) + "x\n")) {
            store.place("pin/p", odd.getBytes(UTF_8));
            assertStops("pin p is damaged");
        }
        for (String lines : List.of(" \n", "opencl/x 0123456789abcdefg\n")) {
            String hash = Sha256.of(lines.getBytes(UTF_8)).hex();
            store.place("pin/p", ("pin 1 " + hash + "\n" + lines).getBytes(UTF_8));
            assertStops("pin p is damaged");
        }
        store.place("pin/p", new byte[(16 << 20) + 1]);
        assertStops("pin p is damaged");
        store.place("pin/p", sound);
        store.plan(faults("GET", "pin/p", Fault.DENIED));
        assertStops("pin p cannot be read");
        store.plan(faults("LIST", "pin/", Fault.DENIED));
        assertStops("pins cannot be listed");
    }

    private void assertStops(String cause) {
        String message = String.valueOf(
                assertThrows(IOException.class, () -> collect(UNUSED)).getMessage());
        assertTrue(message.contains(cause), message);
    }

    @Test
    @DisplayName("all entries of a target leave, used ones too; other targets stay")
    void all() throws Exception {
        Entry used = published();
        store.pass(DAY);
        note(0, used);
        assertEquals(
                List.of(), List.copyOf(plan(new Rules("opencl/x", 90, 0, true)).targets()));
        collect(new Rules(PackFixture.NAMESPACE, 90, Long.MAX_VALUE, true));
        assertLost(List.of(used), List.of());
    }

    @Test
    @DisplayName(
            "an entry that is noted or pinned before the swap stays, and the others leave, which"
                    + " are counted")
    void secondLook() throws Exception {
        Entry noted = published();
        Entry pinned = published();
        Entry unused = published();
        Entry unpacked = unpacked();
        store.pass(DAY.multipliedBy(100));
        note(100);
        before("PUT base", 1, () -> note(0, noted));
        before("PUT base", 2, () -> pins().write("p", List.of(pinned.id())));
        assertEquals(1, collect(UNUSED).removed());
        assertLost(List.of(unused, unpacked), List.of(noted, pinned));
    }

    @Test
    @DisplayName("an entry that is published again meanwhile stays: in another pack, or unpacked as"
            + " another version")
    void publishedMeanwhile() throws Exception {
        Entry packed = published();
        Entry unpacked = unpacked();
        store.pass(DAY.multipliedBy(100));
        note(100);
        collector(store);
        BucketCollector collector = collector(store);
        CollectionPlan plan = collector.plan(UNUSED);
        assertEquals(2, plan.targets().iterator().next().leaving().entries());
        bucket.publish(packed);
        bucket.placeUnpacked(unpacked);
        collector.collect(plan, plan.targets().iterator().next(), true, _ -> {});
        assertLost(List.of(), List.of(packed, unpacked));
    }

    /** Runs something before the request of that name and number, from 1. */
    private void before(String request, int number, Runnable what) {
        AtomicInteger seen = new AtomicInteger();
        Runnable other = hook;
        hook = () -> {
            boolean isIt = store.namedRequests().getLast().equals(request);
            other.run();
            if (isIt && seen.incrementAndGet() == number) {
                what.run();
            }
        };
        store.beforeEach(() -> hook.run());
    }

    /** Places some entries that are unused, used, pinned and young. */
    private record Mixed(List<Entry> unused, List<Entry> kept) {}

    private Mixed placeMixed() {
        List<Entry> unused = List.of(entry(), entry(), unpacked());
        List<Entry> kept = new ArrayList<>(List.of(entry(), entry(), unpacked()));
        bucket.publish(unused.get(0), kept.get(0));
        bucket.publish(unused.get(1), kept.get(1));
        store.pass(DAY.multipliedBy(100));
        note(100);
        note(1, kept.get(0), kept.get(2));
        pins().write("p", List.of(kept.get(1).id()));
        kept.add(published());
        return new Mixed(unused, kept);
    }

    @Test
    @DisplayName("a collector that is killed before any request loses nothing else, and the next"
            + " one completes its work")
    void killed() throws Exception {
        for (int left = 1; left < MAX_RUNS; left++) {
            begin("killed " + left);
            Mixed mixed = placeMixed();
            AtomicInteger until = new AtomicInteger(left);
            store.beforeEach(() -> {
                if (until.decrementAndGet() == 0) {
                    throw new Killed();
                }
            });
            boolean isKilled = false;
            try {
                collect(UNUSED);
            } catch (Killed e) {
                isKilled = true;
            }
            store.beforeEach(() -> {});
            assertLost(List.of(), mixed.kept());
            collect(UNUSED);
            assertLost(mixed.unused(), mixed.kept());
            if (!isKilled) {
                assertTrue(left > 20, "some requests were sent");
                return;
            }
        }
        throw new AssertionError("the collection does not end");
    }

    @Test
    @DisplayName("a second collector that does all its work before any request of the first loses"
            + " nothing else, and the first one completes")
    void second() throws Exception {
        for (int at = 1; at < MAX_RUNS; at++) {
            begin("second " + at);
            Mixed mixed = placeMixed();
            AtomicInteger until = new AtomicInteger(at);
            store.beforeEach(() -> {
                if (until.decrementAndGet() == 0) {
                    try {
                        collect(UNUSED);
                    } catch (IOException | CompactionException e) {
                        throw new AssertionError(e);
                    }
                }
            });
            collect(UNUSED);
            store.beforeEach(() -> {});
            assertLost(mixed.unused(), mixed.kept());
            if (until.get() > 0) {
                assertTrue(at > 20, "some requests were sent");
                return;
            }
        }
        throw new AssertionError("the collection does not end");
    }

    @Test
    @DisplayName("old claims and notes are removed; younger ones, claims that were taken over, and"
            + " objects of unknown names stay")
    void tidies() throws Exception {
        String root = "v2/" + PackFixture.NAMESPACE;
        String claim = root + "/c/" + "0".repeat(64);
        String taken = root + "/c/" + "1".repeat(64);
        String young = root + "/c/" + "2".repeat(64);
        List<String> foreign = List.of(
                "other", root + "/c/x", root + "/e/00/x", root + "/x", "use/x", "pin/X", "pin/.x");
        foreign.forEach(key -> store.place(key, new byte[1]));
        store.place(claim, new byte[1]);
        store.place(taken, new byte[1]);
        store.pass(DAY.multipliedBy(300));
        note(300);
        note(95);
        note(91);
        note(90);
        store.place(young, new byte[1]);
        BucketCollector collector = collector(store);
        CollectionPlan plan = collector.plan(UNUSED);
        assertEquals(2, plan.claims());
        store.place(taken, new byte[1]);
        assertEquals(1, collector.removeClaims(plan));
        assertEquals(3, collector.forgetNotes(plan));
        assertTrue(plan(UNUSED).knowsUnused(), "the note that shows it stays");
        assertTrue(store.keys().containsAll(foreign));
        assertFalse(store.keys().contains(claim));
        assertTrue(store.keys().containsAll(List.of(taken, young)));
        assertEquals(0, collector.forgetNotes(plan(UNUSED)));
    }

    @Test
    @DisplayName("where deletions ignore the condition, an unpacked entry leaves only if it has not"
            + " changed")
    void inexactDeletion() throws Exception {
        List<Entry> both = List.of(unpacked(), unpacked());
        store.pass(DAY.multipliedBy(100));
        note(100);
        ObjectStore replacing = new ForwardingStore(store) {
            private boolean isReplaced;

            @Override
            public HeadResult head(String key) {
                if (!isReplaced && key.equals(PackFixture.unpackedKey(both.get(1)))) {
                    isReplaced = true;
                    bucket.placeUnpacked(both.get(1));
                }
                return super.head(key);
            }
        };
        Outcome outcome = collect(UNUSED, replacing, false);
        assertEquals(List.of(1L, 1L), List.of(outcome.removed(), outcome.unremoved()));
        assertLost(both.subList(0, 1), both.subList(1, 2));
    }

    @Test
    @DisplayName("a refused deletion is counted, and the entry stays")
    void refused() throws Exception {
        Entry unused = unpacked();
        store.pass(DAY.multipliedBy(100));
        note(100);
        store.plan(faults("DELETE match", "/e/", Fault.DENIED));
        Outcome outcome = collect(UNUSED);
        assertEquals(List.of(0L, 1L), List.of(outcome.removed(), outcome.unremoved()));
        assertLost(List.of(), List.of(unused));
    }

    @Test
    @DisplayName("many packs are rewritten in parts, each with a swap of its own")
    void parts() throws Exception {
        List<Entry> unused = entries(300);
        List<Entry> used = entries(300);
        for (int i = 0; i < unused.size(); i++) {
            bucket.publish(unused.get(i), used.get(i));
        }
        store.pass(DAY.multipliedBy(100));
        note(100);
        note(1, used.toArray(Entry[]::new));
        long generation = bucket.head().generation();
        collect(UNUSED);
        assertLost(unused, used);
        assertEquals(3, bucket.packs().size());
        assertEquals(4, bucket.head().generation() - generation, "and one of the remover");
    }

    @Test
    @DisplayName("a target with a missing pack is not collected, and says so")
    void lostPack() throws Exception {
        bucket.remove(bucket.publish(entry()));
        published();
        unpacked();
        store.pass(DAY.multipliedBy(100));
        note(100);
        CollectionPlan.Target target = target(UNUSED);
        assertTrue(
                target.failure().orElseThrow().contains("granary compact"), target.failure()::get);
        assertFalse(target.hasWork());
        assertEquals(0, target.leaving().entries());
    }

    @Test
    @DisplayName("notes that cannot be read end the collection; damaged ones are counted")
    void notes() throws Exception {
        published();
        store.pass(DAY.multipliedBy(100));
        note(100);
        note(1);
        store.place("use/" + today() + "/00000000000000ff", new byte[1]);
        assertEquals(1, plan(UNUSED).ignoredNotes());
        store.plan(faults("GET", "use/", Fault.TIMEOUT));
        assertThrows(IOException.class, () -> collect(UNUSED));
    }

    @Test
    @DisplayName("notes that cannot be read before a swap end the collection of one target only")
    void notesOfOneTarget() throws Exception {
        Entry unused = published();
        store.pass(DAY.multipliedBy(100));
        note(100);
        BucketCollector collector = collector(store);
        CollectionPlan plan = collector.plan(UNUSED);
        CollectionPlan.Target target = plan.targets().iterator().next();
        note(0);
        store.plan(faults("GET", "use/", Fault.TIMEOUT));
        assertThrows(IOException.class, () -> collector.collect(plan, target, true, _ -> {}));
        assertLost(List.of(), List.of(unused));
        store.plan(FaultPlan.SOUND);
        collector.collect(plan, target, true, _ -> {});
        assertLost(List.of(unused), List.of());
    }

    @Test
    @DisplayName("nothing leaves if the server sends no date")
    void withoutDate() {
        ObjectStore withoutDate = new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                return switch (super.get(key, limit)) {
                    case GetResult.Found found ->
                        new GetResult.Found(found.bytes(), found.etag(), ServerTimestamps.NONE);
                    case GetResult.Absent _ -> GetResult.ABSENT;
                    case GetResult other -> other;
                };
            }
        };
        assertThrows(IOException.class, () -> collector(withoutDate).plan(UNUSED));
    }

    @Test
    @DisplayName("a pin has the form of docs/bucket.md")
    void formOfPins() throws Exception {
        Entry one = entry();
        pins().write("nightly", List.of(one.id(), one.id()));
        String text = new String(store.body("pin/nightly"), UTF_8);
        assertTrue(
                text.matches("pin 1 [0-9a-f]{64}\n" + PackFixture.NAMESPACE + " [0-9a-f]{16}\n"),
                text);
        pins().read(pin -> assertArrayEquals(
                new long[] {one.id().hash().prefix()}, pin.ids().get(PackFixture.NAMESPACE)));
        assertThrows(IllegalArgumentException.class, () -> pins().write("No", List.of()));
        store.plan(faults("PUT", "pin/", Fault.DENIED));
        assertTrue(pins().write("nightly", List.of()).isPresent());
        assertTrue(store.put("x", new byte[0]) instanceof WriteResult.Done);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "half of 200,000 entries are collected in a heap of 160 MiB, of which the bucket in"
                    + " memory has some 40")
    void smallHeap() throws Exception {
        ChildJvm.Result result =
                ChildJvm.of(Large.class).shortLived().flags("-Xmx160m").run();
        assertTrue(result.output().contains("100000 left, 100000 stayed"), result::toString);
    }

    /** Collects half of a large target. */
    static final class Large {
        private static final int PACKS = 10;
        private static final int ENTRIES = 20_000;

        private Large() {}

        public static void main(String[] none) throws Exception {
            BucketCollectorTest test = new BucketCollectorTest();
            long[] used = new long[PACKS * ENTRIES / 2];
            for (int i = 0; i < PACKS; i++) {
                PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, test.bucket.random());
                for (int j = 0; j < ENTRIES; j++) {
                    Sha256 id = PackFixture.hash(test.bucket.random());
                    builder.add(id, test.entries.bytes(60), 1_000_000);
                    if (j % 2 == 0) {
                        used[(i * ENTRIES + j) / 2] = id.prefix();
                    }
                }
                test.bucket.publish(builder.build());
            }
            test.store.pass(DAY.multipliedBy(100));
            test.note(100);
            test.noteIds(1, used);
            test.store.newRequests();
            BucketCollector collector = test.collector(test.store);
            long start = System.nanoTime();
            CollectionPlan plan = collector.plan(UNUSED);
            long planned = System.nanoTime();
            int requests = test.store.newRequests().size();
            CollectionPlan.Target target = plan.targets().iterator().next();
            collector.collect(plan, target, true, _ -> {});
            System.out.printf(
                    "plan: %d ms, %d requests; delete: %d ms, %d requests%n",
                    (planned - start) / 1_000_000,
                    requests,
                    (System.nanoTime() - planned) / 1_000_000,
                    test.store.newRequests().size());
            long stayed = test.bucket.packs().stream()
                    .mapToLong(pack -> pack.entries())
                    .sum();
            System.out.println(target.leaving().entries() + " left, " + stayed + " stayed");
        }
    }
}
