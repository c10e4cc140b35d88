package dev.granary.s3.pack.compact;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackLookupDriver;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The entries and packs that compaction packs, merges, rewrites, leaves out, and leaves alone. */
class PackCompactorTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final Duration MOMENT = Duration.ofMillis(1);

    private final PackFixture bucket = new PackFixture("PackCompactorTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackCompactorTest");

    private List<Entry> entries(int count, int bytes) {
        return Stream.generate(() -> entries.entry(bytes)).limit(count).toList();
    }

    private List<Entry> placeUnpacked(int count) {
        List<Entry> all = entries(count, 100);
        all.forEach(bucket::placeUnpacked);
        return all;
    }

    private PackInfo publish(List<Entry> all) {
        return bucket.publish(bucket.pack(all));
    }

    private CompactionPlan plan() throws CompactionException {
        return bucket.compactor().plan(Set.of());
    }

    private CompactionReport run(CompactionPlan plan) throws CompactionException {
        return bucket.compactor().run(plan, GRACE, true, _ -> {}).orElseThrow();
    }

    private CompactionReport compactOver(ObjectStore over) throws CompactionException {
        PackCompactor compactor = bucket.compactor(over);
        return compactor.run(compactor.plan(Set.of()), GRACE, true, _ -> {}).orElseThrow();
    }

    private String stop(ObjectStore over) {
        return String.valueOf(
                assertThrows(CompactionException.class, () -> compactOver(over)).getMessage());
    }

    private void assertFound(List<Entry> all) {
        try (PackLookupDriver machine = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), machine.lost(all));
        }
    }

    private long count(String range) {
        return store.keys().stream().filter(key -> key.contains(range)).count();
    }

    private static List<Entry> all(List<Entry> some, List<Entry> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }

    private static String hex(Entry entry) {
        return entry.id().hash().hex();
    }

    /** Returns another content for the id of an entry. */
    private Entry fresh(Entry entry) {
        return entries.entry(entry.id(), 100);
    }

    @Test
    @DisplayName("unpacked entries go into a pack; they are removed when it is a grace old by the"
            + " server's clock, and not earlier")
    void folds() throws CompactionException {
        List<Entry> all = placeUnpacked(100);
        assertEquals(List.of(100L, 0L), List.of(plan().folded(), plan().merged()));
        CompactionReport first = bucket.compact();
        assertEquals(
                List.of(100L, 1L, 0L, 0L),
                List.of(first.packed(), first.written(), first.removed(), first.waiting()));
        assertEquals(List.of(1L, 100L), List.of(count("/p/"), count("/e/")));
        assertFound(all);
        assertTrue(plan().isEmpty());
        store.pass(GRACE.minus(MOMENT));
        String nonce = bucket.head().nonce();
        assertEquals(100, bucket.compact().waiting());
        assertEquals(nonce, bucket.head().nonce(), "nothing was to be swapped");
        store.pass(MOMENT);
        CompactionReport last = bucket.compact();
        assertEquals(List.of(100L, 0L), List.of(last.removed(), last.waiting()));
        assertEquals(List.of(1L, 0L), List.of(count("/p/"), count("/e/")));
        assertFound(all);
    }

    @Test
    @DisplayName("small packs are merged, a shared entry is stored once; one swap retires the old"
            + " ones; a single small pack is left alone")
    void merges() throws CompactionException {
        List<Entry> all = entries(40, 100);
        for (int i = 0; i < 4; i++) {
            publish(all.subList(5 * i, 5 * i + 25));
        }
        List<Entry> unpacked = placeUnpacked(3);
        Head before = bucket.head();
        assertEquals(4, plan().merged());
        CompactionReport report = bucket.compact();
        assertEquals(List.of(43L, 1L), List.of(report.packed(), report.written()));
        assertEquals(List.of(43), bucket.packs().stream().map(PackInfo::entries).toList());
        Head after = bucket.head();
        assertEquals(before.generation() + 1, after.generation());
        assertEquals(List.of(), after.recent());
        before.recent().forEach(pack -> assertTrue(after.retires(pack.name())));
        assertFound(all(all, unpacked));
        assertTrue(plan().isEmpty());
    }

    @Test
    @DisplayName("entries larger than a pack in total go into packs of disjoint ranges of ids, in"
            + " bounded reads")
    void several() throws CompactionException {
        List<Entry> all = entries(18, 2 << 20);
        all.subList(0, 10).forEach(bucket::placeUnpacked);
        publish(all.subList(10, 14));
        publish(all.subList(14, 18));
        List<Long> reported = new ArrayList<>();
        assertTrue(bucket.compactor().run(plan(), GRACE, true, reported::add).isPresent());
        assertEquals(2, bucket.packs().size());
        List<List<Sha256>> ids = bucket.packs().stream()
                .map(pack -> locations(pack).stream().map(PackLocation::id).toList())
                .sorted(Comparator.comparing(List::getFirst, PackIndex.ORDER))
                .toList();
        assertTrue(
                PackIndex.ORDER.compare(ids.getFirst().getLast(), ids.getLast().getFirst()) < 0);
        assertTrue(
                store.longestRange() <= (8 << 20) + (3 << 20),
                store.longestRange() + " bytes in one part");
        assertEquals(reported.stream().sorted().toList(), reported);
        assertTrue(reported.getLast() >= 18L * (2 << 20));
        assertFound(all);
    }

    private List<PackLocation> locations(PackInfo pack) {
        byte[] body = store.body(PackFixture.KEYS.pack(pack.name()));
        return PackIndex.decode(
                                Arrays.copyOfRange(body, (int) pack.indexOffset(), body.length),
                                pack.indexOffset(),
                                PackFixture.NAMESPACE)
                        instanceof PackIndex.Read.Ok ok
                ? ok.index().locations()
                : List.of();
    }

    @Test
    @DisplayName("a large pack stays while half of it is live, and is rewritten when less is")
    void rewrites() throws CompactionException {
        List<Entry> first = entries(5, 4 << 20);
        List<Entry> half = all(first.subList(0, 2), entries(2, 5 << 20));
        List<Entry> less = all(first.subList(2, 5), entries(2, 4 << 20));
        publish(first);
        publish(half);
        assertEquals(0, plan().merged());
        publish(less);
        assertEquals(1, plan().merged());
        CompactionReport report = bucket.compact();
        assertEquals(List.of(0L, 0L), List.of(report.packed(), report.written()));
        assertEquals(
                List.of(5, 4), bucket.packs().stream().map(PackInfo::entries).toList());
        assertFound(all(first, all(half, less)));
    }

    /** Returns an entry as another writer stores it. */
    private byte[] encodedAgain(Entry entry) {
        return EntryFormat.encode(
                entry,
                Compression.NONE,
                new UUID(bucket.random().nextLong(), bucket.random().nextLong()));
    }

    @Test
    @DisplayName("an unpacked entry wins over the copy in a pack, sound or damaged, merged or"
            + " not; its object is removed a grace later")
    void unpackedWins() throws CompactionException {
        for (int bytes : List.of(100, 6 << 20)) {
            List<Entry> old = entries(3, bytes);
            PackInfo pack = publish(old);
            bucket.damage(pack, old.get(0));
            Entry other = fresh(old.get(1));
            store.place(PackFixture.unpackedKey(old.get(0)), encodedAgain(old.get(0)));
            bucket.placeUnpacked(other);
            List<Entry> newest = List.of(old.get(0), other, old.get(2));
            CompactionReport report = bucket.compact();
            assertEquals(List.of(0L, 0L), List.of(report.removed(), report.lost()));
            assertFound(newest);
            store.pass(GRACE);
            report = bucket.compact();
            assertEquals(List.of(2L, 0L), List.of(report.removed(), report.lost()));
            assertFound(newest);
            assertEquals(0, count("/e/"));
        }
    }

    @Test
    @DisplayName("of several copies of an id the one that readers take is moved, in whatever order"
            + " packs are chosen")
    void firstCopy() throws CompactionException {
        List<Entry> old = entries(3, 6 << 20); // a large pack, mostly dead
        PackInfo large = publish(old);
        bucket.damage(large, old.get(0));
        List<Entry> newer = List.of(old.get(0), fresh(old.get(1)));
        publish(newer); // a small one, before it
        assertEquals(2, plan().merged());
        CompactionReport report = bucket.compact();
        assertEquals(List.of(3L, 0L), List.of(report.packed(), report.lost()));
        assertFound(all(newer, old.subList(2, 3)));
    }

    /** Puts an unpacked entry with its last byte changed into the bucket; returns its key. */
    private String placeDamaged(Entry entry) {
        byte[] bytes = PackFixture.encoded(entry);
        bytes[bytes.length - 1] ^= 1;
        store.place(PackFixture.unpackedKey(entry), bytes);
        return PackFixture.unpackedKey(entry);
    }

    @Test
    @DisplayName("unpacked entries that are damaged, too large or of another version stay and are"
            + " counted; a damaged one does not replace its copy in a pack")
    void leaves() throws CompactionException {
        List<Entry> packed = entries(2, 100);
        publish(packed);
        String damaged = placeDamaged(packed.getFirst());
        List<Entry> sound = placeUnpacked(5);
        byte[] other = PackFixture.encoded(entries.entry(100));
        TestEntries.setLaterVersion(other, 0);
        store.place(PackFixture.unpackedKey(entries.entry(100)), other);
        Entry large = entries.entry(PackIndex.MAX_ENTRY_BYTES);
        bucket.placeUnpacked(large);
        CompactionReport report = bucket.compact();
        assertEquals(7, report.packed());
        assertEquals(List.of(damaged), report.damagedKeys());
        assertEquals(
                List.of(1L, 1L, 0L, 0L, 3L),
                List.of(
                        report.tooLarge(),
                        report.otherVersion(),
                        report.unread(),
                        report.gone(),
                        report.left()));
        store.pass(GRACE);
        assertEquals(5, bucket.compact().removed());
        assertEquals(3, count("/e/"));
        assertFound(all(packed, all(sound, List.of(large))));
    }

    @Test
    @DisplayName("an unpacked entry that cannot be read now, or is gone since the listing, is no"
            + " damage")
    void unread() throws CompactionException {
        List<Entry> all = placeUnpacked(2);
        CompactionPlan plan = plan();
        store.plan(FaultPlan.once(
                request -> request.key().contains("/e/"), 0, new Fault.Lost(TIMEOUT)));
        CompactionReport report = run(plan);
        assertEquals(List.of(1L, 1L), List.of(report.packed(), report.unread()));
        assertFound(all);
        plan = plan();
        all.forEach(entry -> store.remove(PackFixture.unpackedKey(entry)));
        assertEquals(2, run(plan).gone());
    }

    @Test
    @DisplayName("an unpacked entry that needs more memory than the process has left is unread: it"
            + " is not known to be damaged")
    void littleMemory() throws Exception {
        ChildJvm.Result result = ChildJvm.of(LittleMemory.class)
                .shortLived()
                .flags("-XX:MaxDirectMemorySize=8m")
                .run();
        assertTrue(result.output().contains("all as expected"), result::toString);
    }

    /** Compacts an entry that does not fit into the memory of the process. */
    static final class LittleMemory {
        private LittleMemory() {}

        public static void main(String[] none) throws CompactionException {
            PackCompactorTest test = new PackCompactorTest();
            byte[] binary = Arrays.copyOf(test.entries.bytes(1 << 20), 16 << 20);
            Entry large = TestEntries.entry(test.entries.id(), KernelBinaries.of(binary));
            String key = PackFixture.unpackedKey(large);
            byte[] stored = EntryFormat.encode(large, Compression.ZSTD);
            test.store.place(key, stored);
            CompactionReport report = test.bucket.compact();
            assertEquals(
                    List.of(1L, List.of(), 0L),
                    List.of(report.unread(), report.damagedKeys(), report.packed()));
            assertArrayEquals(stored, test.store.body(key));
            System.out.println("all as expected");
        }
    }

    private PackBuilder.Pack pack(List<Sha256> ids, List<byte[]> stored) {
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        for (int i = 0; i < ids.size(); i++) {
            builder.add(ids.get(i), stored.get(i), 7);
        }
        return builder.build();
    }

    @Test
    @DisplayName("bytes in packs are moved and never judged: what this version or this machine"
            + " cannot decode is in the new pack as it was")
    void carried() throws CompactionException {
        byte[] newer = PackFixture.encoded(entries.entry(100));
        TestEntries.setLaterVersion(newer, 0);
        List<byte[]> stored = List.of(newer, entries.bytes(50), new byte[] {1});
        List<Sha256> ids = Stream.generate(() -> PackFixture.hash(bucket.random()))
                .limit(3)
                .toList();
        bucket.publish(pack(ids, stored));
        List<Entry> all = entries(3, 100);
        publish(all);
        CompactionReport report = bucket.compact();
        assertEquals(
                List.of(6L, 0L, List.of()),
                List.of(report.packed(), report.lost(), report.lostPacks()));
        PackInfo merged = bucket.packs().getFirst();
        byte[] body = store.body(PackFixture.KEYS.pack(merged.name()));
        for (PackLocation location : locations(merged)) {
            int at = ids.indexOf(location.id());
            if (at >= 0) {
                assertArrayEquals(
                        stored.get(at),
                        Arrays.copyOfRange(body, (int) location.offset(), (int) location.end()));
                assertEquals(7, location.compileNanos());
            }
        }
        assertFound(all);
    }

    /** Ignores the offset of a range, with as many bytes as were requested. */
    private ObjectStore wrongRanges() {
        return new ForwardingStore(store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return super.range(key, 0, length, into);
            }
        };
    }

    /** Ignores the header Range. */
    private ObjectStore withoutRanges() {
        return new ForwardingStore(store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return super.get(key, length);
            }
        };
    }

    @Test
    @DisplayName("a server that ignores ranges, or answers them wrong each time in the same way,"
            + " costs no pack: the compaction stops, or reads whole packs")
    void wrongAnswers() throws CompactionException {
        List<Entry> all = entries(10, 100);
        publish(all.subList(0, 5));
        publish(all.subList(4, 10));
        bucket.placeUnpacked(all.getFirst());
        String nonce = bucket.head().nonce();
        assertTrue(stop(withoutRanges()).contains("more of it than was requested"));
        assertEquals(nonce, bucket.head().nonce());
        CompactionPlan known = plan(); // with the indexes
        assertEquals(
                10,
                bucket.compactor(withoutRanges())
                        .run(known, GRACE, true, _ -> {})
                        .orElseThrow()
                        .packed());
        assertFound(all);
        publish(entries(1, 100));
        CompactionReport report = compactOver(wrongRanges());
        assertEquals(
                List.of(11L, 0L, List.of()),
                List.of(report.packed(), report.lost(), report.lostPacks()));
        assertFound(all);
        store.pass(GRACE);
        assertEquals(0, compactOver(wrongRanges()).removed(), "no copy is known to be sound");
    }

    @Test
    @DisplayName("packs with losses leave one a run, named in the report, with what is sound in"
            + " them; the others stay until the next")
    void oneLossyPack() throws CompactionException {
        List<Entry> first = entries(3, 100);
        List<Entry> second = entries(3, 100);
        List<Entry> third = entries(3, 100);
        List<PackInfo> packs = List.of(publish(first), publish(second), publish(third));
        bucket.damage(packs.get(0), first.get(0));
        bucket.damage(packs.get(1), second.get(0));
        List<Entry> sound = Stream.of(first.subList(1, 3), second.subList(1, 3), third)
                .flatMap(List::stream)
                .toList();
        CompactionReport report = bucket.compact();
        assertEquals(1, report.lost());
        assertEquals(
                Set.of(packs.get(0).name().toString(), packs.get(1).name().toString()),
                Set.copyOf(report.lostPacks()));
        assertEquals(2, bucket.packs().size());
        assertFound(sound);
        report = bucket.compact();
        assertEquals(List.of(1L, 1), List.of(report.lost(), report.lostPacks().size()));
        assertEquals(1, bucket.packs().size());
        assertFound(sound);
        assertEquals(List.of(), bucket.compact().lostPacks());
    }

    @Test
    @DisplayName("a damaged entry is taken from another pack, merged or not, or from its unpacked"
            + " copy")
    void copies() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 2));
        PackInfo damaged = publish(all);
        bucket.damage(damaged, all.get(1));
        bucket.damage(damaged, all.get(2));
        bucket.placeUnpacked(all.get(2));
        CompactionReport report = bucket.compact();
        assertEquals(List.of(1L, 1), List.of(report.lost(), report.lostPacks().size()));
        assertFound(all);
        assertEquals(1, bucket.packs().size());
        List<Entry> large = entries(4, 5 << 20);
        PackInfo staying = publish(large);
        bucket.damage(staying, large.get(3));
        bucket.publish(bucket.pack(large.subList(0, 1)));
        assertTrue(bucket.compact().packed() > 0);
        assertFound(all(all, large.subList(0, 3)));
    }

    /** Answers for one pack as if it were missing, as far as the flags say. */
    private ObjectStore missing(PackInfo pack, HeadResult head, Listing listing) {
        String key = PackFixture.KEYS.pack(pack.name());
        return new ForwardingStore(store) {
            @Override
            public GetResult get(String wanted, long limit) {
                return wanted.equals(key) ? GetResult.ABSENT : super.get(wanted, limit);
            }

            @Override
            public GetResult range(String wanted, long offset, int length, byte[] into) {
                return wanted.equals(key)
                        ? GetResult.ABSENT
                        : super.range(wanted, offset, length, into);
            }

            @Override
            public HeadResult head(String wanted) {
                return wanted.equals(key) ? head : super.head(wanted);
            }

            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return prefix.equals(key) ? listing.list(visitor) : super.list(prefix, visitor);
            }
        };
    }

    /** The answer to a listing. */
    private interface Listing {
        ListResult list(Consumer<ObjectStore.Listed> visitor);
    }

    @Test
    @DisplayName("a pack is missing only if GET, HEAD and the listing agree; else the compaction"
            + " stops and changes nothing")
    void missing() throws CompactionException {
        List<Entry> gone = entries(3, 100);
        List<Entry> sound = entries(3, 100);
        PackInfo pack = publish(gone);
        publish(sound);
        String nonce = bucket.head().nonce();
        HeadResult found = store.head(PackFixture.KEYS.pack(pack.name()));
        Listing empty = _ -> new ListResult.Complete(0);
        Listing silent = _ -> new ListResult.Unavailable(TIMEOUT);
        Listing shown = visitor -> {
            visitor.accept(new ObjectStore.Listed(
                    PackFixture.KEYS.pack(pack.name()), pack.bytes(), "etag", 1));
            return new ListResult.Complete(1);
        };
        for (ObjectStore unclear : List.of(
                missing(pack, found, empty),
                missing(pack, new HeadResult.Unavailable(TIMEOUT), empty),
                missing(pack, new HeadResult.Unavailable(DENIED), empty),
                missing(pack, HeadResult.ABSENT, silent),
                missing(pack, HeadResult.ABSENT, shown))) {
            assertTrue(stop(unclear).contains("not clear whether"));
        }
        assertEquals(nonce, bucket.head().nonce());
        assertFound(all(gone, sound));
        bucket.placeUnpacked(gone.getFirst());
        CompactionReport report = compactOver(missing(pack, HeadResult.ABSENT, empty));
        assertEquals(List.of(pack.name().toString()), report.lostPacks());
        assertEquals(3, report.lost());
        assertTrue(bucket.head().retires(pack.name()));
        assertFound(all(gone.subList(0, 1), sound));
    }

    @Test
    @DisplayName("a pack of which a range cannot be read now stops the compaction: all stay")
    void silentRange() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 3));
        publish(all.subList(3, 6));
        CompactionPlan plan = plan();
        store.script(new Fault.Lost(TIMEOUT));
        assertTrue(assertThrows(CompactionException.class, () -> run(plan))
                .toString()
                .contains("cannot be read"));
        assertEquals(2, bucket.head().recent().size());
        assertFound(all);
        run(plan);
        assertFound(all);
    }

    /** Places a pack with another version in its footer, under the name of its own content. */
    private void publishOfVersion(int version) {
        byte[] body = bucket.pack(entries(2, 100)).body();
        ByteBuffer footer = ByteBuffer.wrap(
                        body, body.length - PackIndex.FOOTER_BYTES, PackIndex.FOOTER_BYTES)
                .slice();
        footer.putInt(8, version);
        footer.putInt(
                PackIndex.FOOTER_BYTES - 4,
                PackIndex.crc(
                        body, body.length - PackIndex.FOOTER_BYTES, PackIndex.FOOTER_BYTES - 4));
        ObjectName name = new ObjectName(bucket.head().generation(), Sha256.of(body));
        int indexOffset = body.length - PackIndex.FOOTER_BYTES - 2 * PackIndex.ROW_BYTES;
        store.place(PackFixture.KEYS.pack(name), body);
        PackInfo row = new PackInfo(name, body.length, indexOffset, 2, Optional.empty());
        bucket.register()
                .swap(
                        Optional.empty(),
                        head -> head.namesOrRetires(name)
                                ? Change.NOTHING
                                : new Change.Next(head.with(row)));
    }

    @Test
    @DisplayName("a sound pack whose index this version cannot use stops the compaction: it is"
            + " never dropped, of a newer version or an older one")
    void otherVersions() throws CompactionException {
        for (int version : List.of(PackIndex.VERSION + 1, PackIndex.VERSION - 1)) {
            PackFixture other = bucket;
            List<Entry> all = entries(2, 100);
            publish(all);
            publishOfVersion(version);
            Head before = bucket.head();
            stop(store);
            assertTrue(stop(wrongRanges()).contains("does not fit"));
            assertEquals(before.nonce(), bucket.head().nonce());
            assertFound(all);
            store.keys().forEach(other.store::remove);
        }
    }

    @Test
    @DisplayName("ids that are left out are in no pack and not unpacked, by their first digits;"
            + " all others are found")
    void without() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 4));
        publish(all.subList(1, 3)); // an older copy of the second
        List<Entry> large = entries(4, 5 << 20);
        publish(large);
        all.subList(3, 6).forEach(bucket::placeUnpacked);
        List<Entry> out = List.of(all.get(1), all.get(3), all.get(5), large.get(2));
        CompactionReport report = bucket.compact(Set.of(
                hex(all.get(1)).substring(0, 20),
                hex(all.get(3)),
                hex(all.get(5)),
                hex(large.get(2))));
        assertEquals(List.of(4L, 2L), List.of(report.leftOut(), report.removed()));
        out.forEach(entry -> assertFalse(bucket.isFound(entry)));
        List<Entry> kept =
                all(all, large).stream().filter(entry -> !out.contains(entry)).toList();
        assertFound(kept);
        store.pass(GRACE);
        bucket.compact();
        out.forEach(entry -> assertFalse(bucket.isFound(entry)));
        assertEquals(0, bucket.compact(Set.of("0".repeat(20))).leftOut());
        assertFound(kept);
    }

    @Test
    @DisplayName("an entry to be left out that was published again since the listing stays; without"
            + " exact deletes only objects that have not changed for a grace go")
    void withoutChanged() throws CompactionException {
        List<Entry> all = placeUnpacked(3);
        Set<String> ids = Set.of(hex(all.get(0)), hex(all.get(1)));
        CompactionPlan exact = bucket.compactor().plan(ids);
        bucket.placeUnpacked(all.get(1));
        assertEquals(1, run(exact).removed());
        assertFalse(bucket.isFound(all.get(0)));
        assertFound(all.subList(1, 3));
        CompactionReport early = inexact(bucket.compactor().plan(ids));
        assertEquals(
                List.of(0L, 1L, 1L),
                List.of(early.removed(), early.unremoved(), early.waiting()),
                "the other one has a copy in a pack");
        store.pass(GRACE);
        CompactionPlan changed = bucket.compactor().plan(ids);
        bucket.placeUnpacked(all.get(1));
        assertEquals(0, inexact(changed).removed());
        assertFound(all.subList(1, 3));
        store.pass(GRACE);
        assertEquals(1, inexact(bucket.compactor().plan(ids)).removed());
        assertFalse(bucket.isFound(all.get(1)));
        assertFound(all.subList(2, 3));
    }

    @Test
    @DisplayName("an unpacked entry to be left out goes, although it is too large for a pack")
    void withoutLarge() throws CompactionException {
        Entry large = entries(1, 100).getFirst();
        store.place(PackFixture.unpackedKey(large), new byte[PackIndex.MAX_ENTRY_BYTES + 1]);
        CompactionReport report = bucket.compact(Set.of(hex(large)));
        assertEquals(List.of(1L, 1L), List.of(report.leftOut(), report.removed()));
        assertFalse(store.keys().contains(PackFixture.unpackedKey(large)));
    }

    private CompactionReport inexact(CompactionPlan plan) throws CompactionException {
        return bucket.compactor().run(plan, GRACE, false, _ -> {}).orElseThrow();
    }

    @Test
    @DisplayName("redundant unpacked entries are removed by If-Match: a changed one stays, refusals"
            + " are counted, and without exact deletes all stay")
    void redundant() throws CompactionException {
        List<Entry> all = placeUnpacked(3);
        bucket.compact();
        store.pass(GRACE);
        assertEquals(3, inexact(plan()).waiting());
        store.plan(FaultPlan.when(
                request -> request.operation().startsWith("DELETE"), new Fault.Lost(DENIED)));
        assertEquals(
                List.of(0L, 3L), List.of(bucket.compact().removed(), run(plan()).unremoved()));
        store.plan(FaultPlan.SOUND);
        Entry fresh = fresh(all.get(1));
        CompactionReport report = compactOver(new ForwardingStore(store) {
            @Override
            public WriteResult deleteIfMatch(String key, String etag) {
                bucket.placeUnpacked(fresh);
                return super.deleteIfMatch(key, etag);
            }
        });
        assertEquals(List.of(2L, 0L), List.of(report.removed(), report.unremoved()));
        assertEquals(
                List.of(PackFixture.unpackedKey(fresh)),
                store.keys().stream().filter(key -> key.contains("/e/")).toList());
        bucket.compact();
        assertFound(List.of(all.get(0), fresh, all.get(2)));
    }

    @Test
    @DisplayName("an unpacked entry that was replaced while it was folded stays, and wins with"
            + " the next compaction")
    void replacedMeanwhile() throws CompactionException {
        List<Entry> bad = placeUnpacked(2);
        Entry fresh = fresh(bad.getFirst());
        compactOver(new ForwardingStore(store) {
            @Override
            public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                bucket.placeUnpacked(fresh);
                return super.replaceIfMatch(key, etag, body);
            }
        });
        store.pass(GRACE);
        assertEquals(1, bucket.compact().removed(), "of the other entry");
        assertFound(List.of(fresh, bad.getLast()));
        store.pass(GRACE);
        assertEquals(1, bucket.compact().removed());
        assertFound(List.of(fresh, bad.getLast()));
    }

    /** Returns a compactor before whose first swap an event occurs. */
    private PackCompactor before(Runnable event) {
        return bucket.compactor(new ForwardingStore(store) {
            private boolean isOver;

            @Override
            public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                if (!isOver) {
                    isOver = true;
                    event.run();
                }
                return super.replaceIfMatch(key, etag, body);
            }
        });
    }

    private void compactMeanwhile() {
        try {
            bucket.compact();
        } catch (CompactionException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("a compaction is suspended before it removes a redundant entry, whose pack"
            + " another one merges meanwhile: the entry is found")
    void suspendedRemoval() throws CompactionException {
        List<Entry> all = placeUnpacked(2);
        bucket.compact();
        store.pass(GRACE);
        int[] deletions = {0};
        compactOver(new ForwardingStore(store) {
            @Override
            public WriteResult deleteIfMatch(String key, String etag) {
                deletions[0]++;
                publish(entries(1, 100));
                compactMeanwhile();
                return super.deleteIfMatch(key, etag);
            }
        });
        assertEquals(2, deletions[0]);
        assertFound(all);
    }

    @Test
    @DisplayName("publishers add packs and fold before the swap: one more attempt, and nothing is"
            + " lost")
    void publishersMeanwhile() throws CompactionException {
        for (int added : List.of(1, Head.FOLDED + 1)) {
            List<Entry> all = new ArrayList<>(entries(6, 100));
            publish(all.subList(0, 3));
            publish(all.subList(2, 6));
            List<Entry> more = entries(added, 10);
            PackCompactor late = before(() -> more.forEach(bucket::publish));
            CompactionReport report = late.run(plan(), GRACE, true, _ -> {}).orElseThrow();
            assertEquals(1, report.written());
            all.addAll(more);
            assertFound(all);
            Set<ObjectName> names =
                    Set.copyOf(bucket.packs().stream().map(PackInfo::name).toList());
            assertEquals(names.size(), bucket.packs().size());
            assertEquals(1 + added, names.size());
            bucket.compact();
            assertFound(all);
            store.keys().forEach(store::remove);
        }
    }

    @Test
    @DisplayName("another compaction is faster: empty, and the next one completes it")
    void overtaken() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 3));
        publish(all.subList(3, 6));
        List<Entry> unpacked = placeUnpacked(2);
        PackCompactor late = before(this::compactMeanwhile);
        assertEquals(Optional.empty(), late.run(plan(), GRACE, true, _ -> {}));
        assertEquals(1, bucket.packs().size());
        assertFound(all(all, unpacked));
        assertTrue(plan().isEmpty());
    }

    @Test
    @DisplayName("the pack became too old before the swap, or the head was removed: empty, and no"
            + " head names the new pack")
    void anotherLine() throws CompactionException {
        for (boolean isHeadRemoved : List.of(true, false)) {
            List<Entry> all = placeUnpacked(3);
            publish(entries(1, 100));
            PackCompactor late = before(() -> {
                if (isHeadRemoved) {
                    store.remove(PackFixture.KEYS.head());
                }
                store.pass(GRACE);
                publish(entries(1, 100));
                try {
                    for (int i = 0; i < 3; i++) {
                        bucket.remover().run(Duration.ZERO);
                    }
                } catch (CompactionException e) {
                    throw new AssertionError(e);
                }
            });
            assertEquals(Optional.empty(), late.run(plan(), GRACE, true, _ -> {}));
            for (PackInfo pack : bucket.packs()) {
                assertTrue(store.keys().contains(PackFixture.KEYS.pack(pack.name())));
            }
            assertFound(all);
            bucket.compact();
            assertFound(all);
        }
    }

    @Test
    @DisplayName("a swap whose answer is lost is done once; with every answer lost the compaction"
            + " stops, and the next one finds its work done")
    void lostSwap() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 3));
        publish(all.subList(3, 6));
        store.plan(FaultPlan.once(
                request -> request.operation().equals("PUT match"),
                0,
                new Fault.AnswerLost(TIMEOUT)));
        assertEquals(1, bucket.compact().written());
        publish(entries(2, 100));
        store.plan(FaultPlan.when(
                request -> request.operation().equals("PUT match"), new Fault.Lost(TIMEOUT)));
        assertTrue(stop(store).contains("unknown"));
        store.plan(FaultPlan.SOUND);
        assertFound(all);
        assertEquals(1, bucket.compact().written());
        assertFound(all);
    }

    @Test
    @DisplayName("the server drops a pack, a base or a head that it reports as written: the"
            + " compaction stops, and the head is the one before")
    void droppedWrites() throws CompactionException {
        List<Entry> all = entries(6, 100);
        publish(all.subList(0, 3));
        publish(all.subList(3, 6));
        List<Entry> unpacked = placeUnpacked(2);
        String nonce = bucket.head().nonce();
        for (String part : List.of("/p/", "/m/", "/head")) {
            stop(bucket.dropping(part));
            assertEquals(nonce, bucket.head().nonce(), part);
            assertFound(all(all, unpacked));
        }
        assertEquals(8, bucket.compact().packed());
        assertFound(all(all, unpacked));
    }

    @Test
    @DisplayName("a head without a lost pack that the server drops is no success either")
    void droppedLoss() throws CompactionException {
        PackInfo lost = publish(entries(3, 100));
        bucket.remove(lost);
        String nonce = bucket.head().nonce();
        stop(bucket.dropping("/head"));
        assertEquals(nonce, bucket.head().nonce());
        assertEquals(3, bucket.compact().lost());
        assertTrue(bucket.head().retires(lost.name()));
    }

    @Test
    @DisplayName("a plan changes nothing, and an empty target gets neither head nor pack")
    void planOnly() throws CompactionException {
        assertTrue(plan().isEmpty());
        assertEquals(List.of(), store.keys());
        bucket.compact();
        assertEquals(List.of(), store.keys());
        placeUnpacked(3);
        publish(entries(2, 100));
        publish(entries(2, 100));
        List<String> before = store.keys();
        String nonce = bucket.head().nonce();
        assertEquals(List.of(3L, 2L), List.of(plan().folded(), plan().merged()));
        assertEquals(before, store.keys());
        assertEquals(nonce, bucket.head().nonce());
        store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(DENIED)));
        assertTrue(stop(store).contains("cannot be listed"));
    }
}
