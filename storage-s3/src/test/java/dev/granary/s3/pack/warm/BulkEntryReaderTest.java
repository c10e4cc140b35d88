package dev.granary.s3.pack.warm;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.PackRange;
import dev.granary.s3.pack.format.UnpackedEntry;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Filling a node from packs: planning, reading, and that damage to a pack costs only its own
 * entries.
 */
class BulkEntryReaderTest {
    private static final long MIB = 1 << 20;

    private final PackFixture bucket = new PackFixture("BulkEntryReaderTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("BulkEntryReaderTest");
    private final BulkEntryReader reader =
            new BulkEntryReader(bucket.register(), PackIndexCache.NONE, TrustPolicy.OFF);
    private final Taken taken = new Taken();

    /**
     * Receiver that retains its entries, with copies of the binaries, whose bytes are valid only
     * during the call.
     */
    private static final class Taken implements BulkEntryReader.Receiver {
        private final Map<Sha256, byte[]> entries = new ConcurrentHashMap<>();
        private final AtomicInteger calls = new AtomicInteger();
        private final ConcurrentLinkedQueue<String> causes = new ConcurrentLinkedQueue<>();
        private final AtomicInteger skippedEntries = new AtomicInteger();
        private final AtomicLong received = new AtomicLong();

        @Override
        public void entries(List<BulkEntryReader.Arrival> arrivals) {
            for (BulkEntryReader.Arrival arrival : arrivals) {
                calls.incrementAndGet();
                entries.put(
                        arrival.entry().id().hash(),
                        arrival.stored().toArray(ValueLayout.JAVA_BYTE));
            }
        }

        @Override
        public void skipped(int count, long bytes, String cause) {
            assertTrue(bytes > 0);
            skippedEntries.addAndGet(count);
            causes.add(cause);
        }

        @Override
        public void received(long bytes) {
            received.addAndGet(bytes);
        }
    }

    private List<Entry> entries(int count, int bytes) {
        return IntStream.range(0, count).mapToObj(_ -> entries.entry(bytes)).toList();
    }

    private PackInfo publish(List<Entry> all) {
        return bucket.publish(bucket.pack(all));
    }

    private BulkReadPlan plan() throws IOException, InterruptedException {
        return reader.plan(BulkEntryReader.UnpackedEntries.SKIP, _ -> true);
    }

    private void assertTaken(List<Entry> expected) {
        assertEquals(expected.size(), taken.calls.get());
        for (Entry entry : expected) {
            byte[] stored = taken.entries.get(entry.id().hash());
            assertArrayEquals(PackFixture.encoded(entry), stored);
            LoadResult read = EntryFormat.decode(
                    MemorySegment.ofArray(stored), entry.id(), VerificationLevel.CONTENT_HASH);
            assertThat(read).isHitOf(entry);
        }
    }

    @Test
    @DisplayName("listed sizes of any kind make a sum that is one: at most 1 GiB each")
    void sums() {
        BulkReadPlan plan = new BulkReadPlan(8 << 20, _ -> true);
        for (long bytes : new long[] {Long.MAX_VALUE, Long.MAX_VALUE, -16, 3}) {
            Sha256 id = entries.id().hash();
            plan.add(new UnpackedEntry(id, id.hex(), bytes, "version"));
        }
        assertEquals(2L * EntryFormat.MAX_BYTES + 3, plan.bytes());
    }

    @Test
    @DisplayName("every entry of every pack is passed on once, as it was published")
    void all() throws Exception {
        List<Entry> expected = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            List<Entry> some = entries(50, 1 + i * 100);
            publish(some);
            expected.addAll(some);
        }
        BulkReadPlan plan = plan();
        assertEquals(600, plan.entries());
        assertEquals(0, plan.present());
        store.newRequests();
        reader.run(plan, taken);
        assertTaken(expected);
        assertEquals(12, store.newRequests().size());
        assertEquals(plan.bytes(), taken.received.get());
        assertEquals(List.of(), List.copyOf(taken.causes));
    }

    @Test
    @DisplayName("an entry that is damaged or missing in its first pack is read from another, or"
            + " unpacked; none is reported as skipped")
    void otherCopies() throws Exception {
        List<Entry> all = entries(4, 100);
        PackInfo cut = publish(all.subList(0, 3));
        PackInfo damaged = publish(all.subList(1, 4));
        publish(all.subList(0, 2));
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        bucket.remove(cut);
        bucket.damage(damaged, all.get(1));
        bucket.damage(damaged, all.get(3));
        reader.run(plan, taken);
        assertTaken(all.subList(0, 3));
        assertEquals(List.of(1, 1), List.of(taken.skippedEntries.get(), taken.causes.size()));
        Taken again = new Taken();
        bucket.placeUnpacked(all.get(3));
        reader.run(reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true), again);
        assertEquals(List.of(4, 0), List.of(again.entries.size(), again.skippedEntries.get()));
    }

    @Test
    @DisplayName("the plan omits present entries and duplicates in older packs; if all are present"
            + " nothing is read")
    void planned() throws Exception {
        List<Entry> first = entries(10, 100);
        List<Entry> second = new ArrayList<>(entries(5, 100));
        second.addAll(first.subList(0, 7));
        publish(first);
        publish(second);
        Set<Sha256> present = Set.of(
                first.get(0).id().hash(),
                first.get(9).id().hash(),
                second.get(2).id().hash());
        BulkReadPlan plan =
                reader.plan(BulkEntryReader.UnpackedEntries.SKIP, id -> !present.contains(id));
        assertEquals(3, plan.present());
        assertEquals(12, plan.entries());
        reader.run(plan, taken);
        List<Entry> expected = new ArrayList<>(first);
        expected.addAll(second.subList(0, 5));
        expected.removeIf(entry -> present.contains(entry.id().hash()));
        assertTaken(expected);
        BulkReadPlan nothing = reader.plan(BulkEntryReader.UnpackedEntries.SKIP, _ -> false);
        assertEquals(
                List.of(15L, 0L, 0L),
                List.of(nothing.present(), nothing.entries(), nothing.bytes()));
        store.newRequests();
        reader.run(nothing, taken);
        assertEquals(List.of(), store.newRequests());
    }

    @Test
    @DisplayName("no packs result in an empty plan")
    void nothing() throws Exception {
        BulkReadPlan plan = plan();
        assertEquals(
                0, plan.entries() + plan.bytes() + plan.present() + plan.lost().size());
        reader.run(plan, taken);
        assertEquals(0, taken.calls.get());
    }

    @Test
    @DisplayName(
            "a range has 8 MiB if there are enough entries, and never more than 16 MiB, a gap and"
                    + " one entry")
    void ranges() throws Exception {
        List<Entry> expected = new ArrayList<>(entries(17, 1 << 20));
        expected.add(entries.entry(20 << 20));
        publish(expected);
        BulkReadPlan plan = plan();
        store.newRequests();
        reader.run(plan, taken);
        int requests = store.newRequests().size();
        assertTaken(expected);
        assertTrue(
                requests <= plan.bytes() / (8 * MIB) + 1,
                requests + " requests for " + plan.bytes() + " bytes");
        assertTrue(
                store.longestRange() <= 16 * MIB + (256 << 10) + (20 << 20) + 1000,
                store.longestRange() + " bytes in one part");
    }

    @Test
    @DisplayName(
            "any range length and gap: the ranges contain all wanted locations once, in order, and"
                    + " no long gap")
    void rangesOfAnyIndex() {
        for (int round = 0; round < 200; round++) {
            List<PackLocation> locations = new ArrayList<>();
            long at = PackIndex.HEADER_BYTES;
            for (int i = 0; i < 100; i++) {
                int length = 1 + bucket.random().nextInt(1 << bucket.random().nextInt(1, 21));
                locations.add(
                        new PackLocation(PackFixture.hash(bucket.random()), at, length, 0, 0));
                at += length;
            }
            long end = at;
            List<PackLocation> sorted = locations.stream()
                    .sorted(Comparator.comparing(PackLocation::id, PackIndex.ORDER))
                    .toList();
            PackIndex.Read read = PackIndex.decode(
                    PackIndex.encode(sorted, end, PackFixture.NAMESPACE),
                    end,
                    PackFixture.NAMESPACE);
            Set<Sha256> wanted = ConcurrentHashMap.newKeySet();
            locations.stream()
                    .filter(_ -> bucket.random().nextInt(3) > 0)
                    .forEach(location -> wanted.add(location.id()));
            long rangeBytes = 1L << bucket.random().nextInt(10, 23);
            PackIndex index = assertThat(read).isOk();
            List<PackRange> ranges = PackRange.of(
                    PackFixture.info(bucket.random(), 1, 1),
                    index.locations().stream()
                            .filter(location -> wanted.contains(location.id()))
                            .toList(),
                    rangeBytes);
            List<PackLocation> inParts =
                    ranges.stream().flatMap(range -> range.locations().stream()).toList();
            assertEquals(
                    locations.stream()
                            .filter(location -> wanted.contains(location.id()))
                            .toList(),
                    inParts);
            for (PackRange range : ranges) {
                assertEquals(range.offset(), range.locations().getFirst().offset());
                long last = range.locations().getLast().length();
                assertTrue(range.length() <= rangeBytes + (256 << 10) + last, range::toString);
            }
        }
    }

    @Test
    @DisplayName("a lost pack, a damaged index, a truncated pack, a damaged entry: reported with"
            + " a cause, and all others are received")
    void damages() throws Exception {
        List<Entry> lost = entries(3, 100);
        List<Entry> unreadable = entries(4, 100);
        List<Entry> gone = entries(5, 100);
        List<Entry> cut = entries(6, 100).stream()
                .sorted(Comparator.comparing(entry -> entry.id().hash(), PackIndex.ORDER))
                .toList();
        List<Entry> damaged = entries(7, 100);
        List<Entry> sound = entries(8, 100);
        bucket.remove(publish(lost));
        PackInfo bad = publish(unreadable);
        store.place(PackFixture.KEYS.pack(bad.name()), entries.bytes((int) bad.bytes()));
        PackInfo removed = publish(gone);
        PackInfo shorter = publish(cut);
        bucket.damage(publish(damaged), damaged.get(3));
        publish(sound);
        BulkReadPlan plan = plan();
        assertEquals(
                List.of(4, 3),
                plan.lost().stream().map(BulkEntryReader.LostPack::entries).toList());
        assertTrue(plan.lost().get(0).cause().contains("damaged"), plan.lost()::toString);
        assertTrue(plan.lost().get(1).cause().contains("not there"), plan.lost()::toString);
        bucket.remove(removed);
        byte[] body = store.body(PackFixture.KEYS.pack(shorter.name()));
        int retained = PackIndex.HEADER_BYTES
                + PackFixture.encoded(cut.get(0)).length
                + PackFixture.encoded(cut.get(1)).length
                + 5;
        store.place(PackFixture.KEYS.pack(shorter.name()), Arrays.copyOf(body, retained));
        reader.run(plan, taken);
        List<Entry> expected = new ArrayList<>(cut.subList(0, 2));
        expected.addAll(damaged);
        expected.remove(damaged.get(3));
        expected.addAll(sound);
        assertTaken(expected);
        assertEquals(5 + 4 + 1, taken.skippedEntries.get());
        assertTrue(
                taken.causes.stream().anyMatch(cause -> cause.contains("not there any more")),
                taken.causes::toString);
        assertTrue(
                taken.causes.stream().anyMatch(cause -> cause.contains("shorter")),
                taken.causes::toString);
        assertTrue(
                taken.causes.stream().anyMatch(cause -> cause.contains("damaged")),
                taken.causes::toString);
    }

    @Test
    @DisplayName("a server that is silent at some requests: reported, and all others are received")
    void silence() throws Exception {
        // of equal size: the indexes are read in parallel, and any may be lost
        publish(entries(3, 100));
        publish(entries(3, 100));
        publish(entries(3, 100));
        store.script(new Fault.None(), new Fault.Lost(TIMEOUT));
        BulkReadPlan plan = plan();
        assertEquals(1, plan.lost().size());
        assertEquals(3, plan.lost().getFirst().entries());
        store.script(new Fault.Lost(ERROR_500));
        reader.run(plan, taken);
        assertEquals(6, taken.calls.get() + taken.skippedEntries.get());
        assertEquals(1, taken.causes.size());
        assertTrue(taken.causes.peek().contains("InternalError"), taken.causes::toString);
    }

    @Test
    @DisplayName("a sound entry under the id of another, or of another target: reported, not passed"
            + " on")
    void misplaced() throws Exception {
        Entry stranger = TestEntries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "stranger").build(),
                entries.entry(10).binaries());
        Entry own = entries.entry(10);
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        builder.add(stranger.id().hash(), PackFixture.encoded(stranger), 0);
        builder.add(entries.id().hash(), PackFixture.encoded(entries.entry(10)), 0);
        builder.add(own.id().hash(), PackFixture.encoded(own), 0);
        bucket.publish(builder.build());
        reader.run(plan(), taken);
        assertTaken(List.of(own));
        assertEquals(2, taken.skippedEntries.get());
    }

    @Test
    @DisplayName("the head or its base cannot be read, or the base is missing: no plan, with the"
            + " cause")
    void noHead() throws Exception {
        do {
            publish(entries(1, 10));
        } while (bucket.head().base().isEmpty());
        store.script(new Fault.Lost(TIMEOUT));
        assertTrue(assertThrows(IOException.class, this::plan).toString().contains("no answer"));
        store.script(new Fault.None(), new Fault.Lost(ERROR_500));
        assertTrue(assertThrows(IOException.class, this::plan).toString().contains("base"));
        store.remove(PackFixture.KEYS.base(bucket.head().base().orElseThrow()));
        assertTrue(assertThrows(IOException.class, this::plan).toString().contains("missing"));
    }

    @Test
    @DisplayName("an interrupt ends the read, and no entry is passed on after that")
    void interrupt() throws Exception {
        for (int i = 0; i < 40; i++) {
            publish(entries(10, 10));
        }
        BulkReadPlan plan = plan();
        CountDownLatch begun = new CountDownLatch(1);
        AtomicInteger lateCalls = new AtomicInteger();
        AtomicBoolean hasReturned = new AtomicBoolean();
        AtomicInteger underWay = new AtomicInteger();
        ConcurrentLinkedQueue<Integer> underWayAtTheEnd = new ConcurrentLinkedQueue<>();
        CountDownLatch never = new CountDownLatch(1);
        BulkEntryReader.Receiver slow = new BulkEntryReader.Receiver() {
            @Override
            public void entries(List<BulkEntryReader.Arrival> arrivals) {
                if (hasReturned.get()) {
                    lateCalls.incrementAndGet();
                }
                underWay.incrementAndGet();
                begun.countDown();
                try {
                    never.await(); // until it is interrupted
                } catch (InterruptedException e) {
                    LockSupport.parkNanos(100_000_000); // ends with a delay
                    Thread.currentThread().interrupt();
                }
                underWay.decrementAndGet();
            }

            @Override
            public void skipped(int count, long bytes, String cause) {}

            @Override
            public void received(long bytes) {}
        };
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<?> run = threads.submit(() -> {
                assertThrows(InterruptedException.class, () -> reader.run(plan, slow));
                hasReturned.set(true);
                underWayAtTheEnd.add(underWay.get());
                return null;
            });
            begun.await();
            threads.shutdownNow();
            run.get();
        }
        assertEquals(0, lateCalls.get());
        assertEquals(List.of(0), List.copyOf(underWayAtTheEnd));
    }

    @Test
    @DisplayName("unpacked entries are read on request, and packed ones are not fetched twice")
    void unpacked() throws Exception {
        List<Entry> packed = entries(5, 100);
        List<Entry> unpacked = entries(40, 100);
        publish(packed);
        packed.subList(0, 3).forEach(bucket::placeUnpacked);
        unpacked.forEach(bucket::placeUnpacked);
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        assertEquals(List.of(45L, 40L), List.of(plan.entries(), plan.unpackedEntries()));
        store.newRequests();
        reader.run(plan, taken);
        List<Entry> expected = new ArrayList<>(packed);
        expected.addAll(unpacked);
        assertTaken(expected);
        assertEquals(
                40, store.newRequests().stream().filter("GET entry"::equals).count());
        assertEquals(plan.bytes(), taken.received.get());
        assertEquals(
                0, reader.plan(BulkEntryReader.UnpackedEntries.SKIP, _ -> true).unpackedEntries());
    }

    /** Reads unpacked entries of this length, and returns how many were read at once. */
    private int readAtOnce(int count, long bytes) throws InterruptedException {
        BulkReadPlan plan = new BulkReadPlan(8 << 20, _ -> true);
        for (int i = 0; i < count; i++) {
            Sha256 id = entries.id().hash();
            plan.add(new UnpackedEntry(id, id.hex(), bytes, "version"));
        }
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        store.beforeEach(() -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            LockSupport.parkNanos(50_000_000); // others would begin meanwhile
            running.decrementAndGet();
        });
        reader.run(plan, taken);
        assertEquals(count, taken.skippedEntries.getAndSet(0), "all are absent");
        return most.get();
    }

    @Test
    @DisplayName("unpacked entries that are read at once have at most 128 MiB, or are alone")
    void memory() throws Exception {
        assertEquals(1, readAtOnce(3, 100 * MIB));
        assertEquals(1, readAtOnce(2, 1024 * MIB));
        assertTrue(readAtOnce(6, 60 * MIB) <= 2);
        assertTrue(readAtOnce(6, 1000) > 1);
    }

    @Test
    @DisplayName("an unpacked entry that grew since the listing is cut off there: reported, and"
            + " nothing of it is received")
    void grown() throws Exception {
        Entry entry = entries.entry(1000);
        bucket.placeUnpacked(entry);
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        store.place(PackFixture.unpackedKey(entry), new byte[1000 * 1000]);
        reader.run(plan, taken);
        assertTaken(List.of());
        assertEquals(List.of("it is longer than the listing said"), List.copyOf(taken.causes));
        assertEquals(0, taken.received.get());
    }

    @Test
    @DisplayName("an unpacked copy of an entry that is damaged in its pack, which grew since the"
            + " listing, is cut off, too")
    void grownCopy() throws Exception {
        Entry entry = entries.entry(1000);
        PackInfo pack = publish(List.of(entry));
        bucket.damage(pack, entry);
        bucket.placeUnpacked(entry);
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        store.place(PackFixture.unpackedKey(entry), new byte[1000 * 1000]);
        reader.run(plan, taken);
        assertTaken(List.of());
        assertEquals(1, taken.skippedEntries.get());
        assertEquals(plan.bytes(), taken.received.get());
    }

    @Test
    @DisplayName(
            "without the right to list, packs are still read, and the plan reports the cause; a"
                    + " damaged unpacked entry is reported")
    void unlisted() throws Exception {
        List<Entry> packed = entries(5, 100);
        List<Entry> unpacked = entries(2, 100);
        publish(packed);
        unpacked.forEach(bucket::placeUnpacked);
        store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(DENIED)));
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        assertTrue(
                plan.unlisted().orElseThrow().contains("AccessDenied"), plan.unlisted()::toString);
        reader.run(plan, taken);
        assertTaken(packed);
        store.plan(FaultPlan.SOUND);
        store.place(PackFixture.unpackedKey(unpacked.get(0)), entries.bytes(50));
        plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, id -> unpacked.stream()
                .anyMatch(entry -> entry.id().hash().equals(id)));
        store.remove(PackFixture.unpackedKey(unpacked.get(1)));
        reader.run(plan, taken);
        assertEquals(2, taken.skippedEntries.get());
        assertTrue(
                taken.causes.stream().anyMatch(cause -> cause.startsWith("damaged")),
                taken.causes::toString);
        assertTrue(
                taken.causes.stream().anyMatch(cause -> cause.contains("not there any more")),
                taken.causes::toString);
    }
}
