package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.register.SwapResult;
import dev.granary.s3.store.GetResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Heads, bases, indexes and packs that are designed to cost their readers much, or to mislead them:
 * they cost misses, and memory within bounds.
 */
class HostilePacksTest {
    private final PackFixture packs = new PackFixture("HostilePacksTest");
    private final RandomGenerator random = packs.random();
    private final TestEntries entries = new TestEntries("HostilePacksTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(100);

    private void place(JsonElement head) {
        packs.store.place(PackFixture.KEYS.head(), head.toString().getBytes(UTF_8));
    }

    private JsonObject head() {
        return JsonParser.parseString(new String(packs.store.body(PackFixture.KEYS.head()), UTF_8))
                .getAsJsonObject();
    }

    /** Changes the row of the only pack. */
    private void changeRow(Consumer<JsonObject> change) {
        JsonObject head = head();
        change.accept(head.getAsJsonArray("recent").get(0).getAsJsonObject());
        place(head);
    }

    private LoadResult load(Entry entry) {
        try (PackLookupDriver machine = new PackLookupDriver(packs)) {
            return machine.load(entry);
        }
    }

    /** Checks that the packed entry is a miss, and the unpacked one is found. */
    private void assertMiss(String what) {
        LoadResult packed = load(one);
        assertTrue(
                packed instanceof LoadResult.Absent
                        || packed instanceof LoadResult.Unavailable
                        || packed instanceof LoadResult.Damaged,
                () -> what + ": " + packed);
        assertThat(load(two)).as(what).isHitOf(two);
    }

    @Test
    @DisplayName("a head that is no head: packed entries are unavailable, unpacked ones are"
            + " found, and nobody overwrites it")
    void noHead() {
        packs.publish(one);
        packs.placeUnpacked(two);
        byte[] sound = packs.store.body(PackFixture.KEYS.head());
        List<byte[]> hostile = new ArrayList<>(List.of(
                new byte[0],
                "null".getBytes(UTF_8),
                "[]".getBytes(UTF_8),
                "{}".getBytes(UTF_8),
                "7".getBytes(UTF_8),
                "{\"a\":".repeat(100_000).getBytes(UTF_8),
                "[".repeat(1_000_000).getBytes(UTF_8),
                entries.bytes(10_000),
                new byte[(4 << 20) + 1]));
        for (String field : List.of("generation", "nonce", "boundary", "recent", "retired")) {
            JsonObject head = JsonParser.parseString(new String(sound, UTF_8)).getAsJsonObject();
            for (JsonElement wrong : List.of(new JsonArray(), new JsonObject())) {
                head.remove(field);
                hostile.add(head.toString().getBytes(UTF_8));
                if (!(wrong.isJsonArray() && field.startsWith("re"))) {
                    head.add(field, wrong);
                    hostile.add(head.toString().getBytes(UTF_8));
                }
            }
        }
        for (byte[] body : hostile) {
            packs.store.place(PackFixture.KEYS.head(), body);
            String what = new String(body, 0, Math.min(40, body.length), UTF_8);
            assertThat(load(one)).as(what).isUnavailable();
            assertThat(load(two)).as(what).isHitOf(two);
            assertTrue(
                    assertThrows(RegisterException.class, () -> packs.register().readOrCreate())
                            .isLoss(),
                    what);
            assertTrue(Arrays.equals(body, packs.store.body(PackFixture.KEYS.head())), what);
        }
    }

    @Test
    @DisplayName("generations that cannot be: the head is refused, or its packs are read")
    void generations() {
        packs.publish(one);
        for (long generation : new long[] {-1, Long.MIN_VALUE, 0}) {
            JsonObject head = head();
            head.addProperty("generation", generation);
            head.addProperty("boundary", generation + 1);
            place(head);
            assertThat(load(one)).isUnavailable();
        }
        JsonObject head = head();
        head.addProperty("boundary", 0);
        head.addProperty("generation", Long.MAX_VALUE);
        place(head);
        assertThat(load(one)).isHitOf(one);
    }

    @Test
    @DisplayName(
            "a row whose lengths are not those of a pack is refused before the pack is" + " read")
    void hostileLengths() {
        packs.publish(one);
        packs.placeUnpacked(two);
        byte[] sound = packs.store.body(PackFixture.KEYS.head());
        long indexOffset = PackIndex.HEADER_BYTES + PackInfo.MAX_ENTRIES + 1L;
        for (long[] wrong : new long[][] {
            {
                indexOffset
                        + (PackInfo.MAX_ENTRIES + 1L) * PackIndex.ROW_BYTES
                        + PackIndex.FOOTER_BYTES,
                indexOffset,
                PackInfo.MAX_ENTRIES + 1L
            },
            {Long.MAX_VALUE, Long.MAX_VALUE - PackIndex.FOOTER_BYTES, 0},
            {-1, -1 - PackIndex.FOOTER_BYTES, 0},
            {0, 0, 0}
        }) {
            packs.store.place(PackFixture.KEYS.head(), sound);
            changeRow(row -> {
                row.addProperty("bytes", wrong[0]);
                row.addProperty("indexOffset", wrong[1]);
                row.addProperty("entries", wrong[2]);
            });
            packs.store.newRequests();
            assertMiss(Arrays.toString(wrong));
            assertTrue(packs.store.newRequests().stream().noneMatch("RANGE pack"::equals));
        }
    }

    @Test
    @DisplayName("the largest index that a head can declare for a pack that is not there: a miss,"
            + " and one request")
    void largestIndex() {
        packs.placeUnpacked(two);
        packs.publish(one);
        PackInfo largest = PackFixture.info(random, packs.head().generation(), 1);
        long indexOffset = PackIndex.HEADER_BYTES + (long) PackInfo.MAX_ENTRIES;
        PackInfo declared = new PackInfo(
                largest.name(),
                indexOffset
                        + (long) PackInfo.MAX_ENTRIES * PackIndex.ROW_BYTES
                        + PackIndex.FOOTER_BYTES,
                indexOffset,
                PackInfo.MAX_ENTRIES,
                Optional.empty());
        JsonObject head = head();
        head.getAsJsonArray("recent").set(0, declared.json());
        place(head);
        assertMiss("the largest index");
    }

    @Test
    @DisplayName("of many largest packs, no more than 16 indexes are in memory")
    void manyLargestIndexes() {
        PackIndexReader.IndexResult index = PackIndexReader.read(
                packs.publish(one), PackFixture.KEYS, PackIndexCache.NONE, packs.store);
        PackView view = new PackView(
                Optional.empty(),
                Optional.empty(),
                LoadResult.ABSENT,
                RefreshSchedule.Moment.NEVER);
        long indexOffset = PackIndex.HEADER_BYTES + (long) PackInfo.MAX_ENTRIES;
        List<PackInfo> rows = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            rows.add(new PackInfo(
                    new ObjectName(i, PackFixture.hash(random)),
                    indexOffset
                            + (long) PackInfo.MAX_ENTRIES * PackIndex.ROW_BYTES
                            + PackIndex.FOOTER_BYTES,
                    indexOffset,
                    PackInfo.MAX_ENTRIES,
                    Optional.empty()));
            view.add(rows.getLast(), index);
            assertTrue(view.index(rows.getLast()).isPresent());
            assertTrue(rows.stream().filter(row -> view.index(row).isPresent()).count() <= 16);
        }
    }

    @Test
    @DisplayName("filters of any content and size: a wrong one costs a miss or an unneeded index")
    void filters() {
        packs.publish(one);
        packs.placeUnpacked(two);
        for (String filter : List.of(
                Base64.getEncoder().encodeToString(new byte[8]), // has nothing
                Base64.getEncoder().encodeToString(new byte[1 << 20]),
                Base64.getEncoder().encodeToString(new byte[7]),
                "not Base64 at all",
                "")) {
            changeRow(row -> row.addProperty("filter", filter));
            assertMiss(filter.substring(0, Math.min(20, filter.length())));
        }
        byte[] full = new byte[64];
        Arrays.fill(full, (byte) -1); // may have anything
        changeRow(row -> row.addProperty("filter", Base64.getEncoder().encodeToString(full)));
        assertThat(load(one)).isHitOf(one);
        assertThat(load(two)).isHitOf(two);
        assertThat(load(entries.entry(1))).isAbsent();
    }

    @Test
    @DisplayName("a head that names one pack a thousand times, or the pack of another target, or"
            + " an object that is no pack")
    void names() {
        PackInfo pack = packs.publish(one);
        packs.placeUnpacked(two);
        JsonObject head = head();
        JsonArray recent = head.getAsJsonArray("recent");
        while (recent.size() < 1000) {
            recent.add(recent.get(0));
        }
        place(head);
        packs.store.newRequests();
        assertThat(load(one)).isHitOf(one);
        assertEquals(3, packs.store.newRequests().size());
        packs.remove(pack);
        assertMiss("a pack that is named a thousand times, and missing");
        assertTrue(packs.store.newRequests().size() < 10);
        packs.store.place(PackFixture.KEYS.pack(pack.name()), entries.bytes((int) pack.bytes()));
        assertMiss("no pack");
        for (String name : List.of("", "..", "../../../granary.json", pack.name() + "/x")) {
            changeRow(row -> row.addProperty("name", name));
            assertMiss(name);
        }
    }

    @Test
    @DisplayName("a base that is no base, names itself, or has another content than its name:"
            + " recent packs and unpacked entries are found")
    void bases() {
        Entry recent = entries.entry(10);
        packs.publish(one);
        while (packs.head().base().isEmpty()) {
            packs.publish(entries.entry(10));
        }
        packs.publish(recent);
        packs.placeUnpacked(two);
        byte[] sound =
                packs.store.body(PackFixture.KEYS.base(packs.head().base().orElseThrow()));
        JsonObject twice = JsonParser.parseString(new String(sound, UTF_8)).getAsJsonObject();
        twice.getAsJsonArray("packs")
                .forEach(row -> row.getAsJsonObject().addProperty("bytes", Long.MAX_VALUE));
        for (String body : List.of(
                "",
                "null",
                "[]",
                "{}",
                "{\"format\":1}",
                "{\"format\":1,\"packs\":[null]}",
                "{\"format\":1,\"packs\":{}}",
                "[".repeat(1_000_000),
                twice.toString())) {
            ObjectName name =
                    new ObjectName(packs.head().generation(), Sha256.of(body.getBytes(UTF_8)));
            packs.store.place(PackFixture.KEYS.base(name), body.getBytes(UTF_8));
            JsonObject head = head();
            head.addProperty("base", name.toString());
            place(head);
            String what = body.substring(0, Math.min(60, body.length()));
            assertMiss(what);
            assertThat(load(recent)).as(what).isHitOf(recent);
        }
    }

    @Test
    @DisplayName("a base or head that no reader would take is not written")
    void tooLarge() throws Exception {
        packs.publish(one);
        long generation = packs.head().generation();
        PackInfo row = PackFixture.info(random, generation, PackInfo.MAX_ENTRIES);
        List<PackInfo> rows = new ArrayList<>();
        while ((long) rows.size() * row.filterBytes() <= Base.MAX_BYTES) {
            rows.add(row.named(new ObjectName(generation, PackFixture.hash(random))));
        }
        RegisterException refused = assertThrows(
                RegisterException.class, () -> packs.register().writeBase(generation, rows));
        assertFalse(refused.isLoss());
        assertTrue(packs.store.keys().stream().noneMatch(key -> key.contains("/m/")));
        Set<ObjectName> gone = new HashSet<>();
        while (gone.size() < 40_000) {
            gone.add(new ObjectName(generation, PackFixture.hash(random)));
        }
        SwapResult result = packs.register()
                .swap(
                        Optional.empty(),
                        head -> new Change.Next(head.with(Optional.empty(), Set.of(), gone)));
        assertInstanceOf(SwapResult.Failed.class, result);
        assertEquals(generation, packs.head().generation());
        assertThat(load(one)).isHitOf(one);
    }

    @Test
    @DisplayName("a base larger than the limit is a loss")
    void tooLargeBase() {
        packs.publish(one);
        byte[] body = new byte[Base.MAX_BYTES + 1];
        ObjectName name = new ObjectName(packs.head().generation(), Sha256.of(body));
        packs.store.place(PackFixture.KEYS.base(name), body);
        assertTrue(assertThrows(RegisterException.class, () -> packs.register().readBase(name))
                .isLoss());
    }

    @Test
    @DisplayName("a base with 1,000 rows without a filter, of packs that are not there: a fold"
            + " reads as many indexes as it folds packs, and its own packs get their filters")
    void rowsWithoutFilters() throws Exception {
        List<Entry> recent = new ArrayList<>();
        while (recent.size() < Head.FOLDED - 1) {
            recent.add(entries.entry(10));
            packs.publish(recent.getLast());
        }
        long generation = packs.head().generation();
        PackInfo row = PackFixture.info(random, generation, 1).with(Optional.empty());
        List<PackInfo> rows = new ArrayList<>();
        while (rows.size() < 1_000) {
            rows.add(row.named(new ObjectName(generation, PackFixture.hash(random))));
        }
        ObjectName base = packs.register().writeBase(generation, rows);
        JsonObject head = head();
        head.addProperty("base", base.toString());
        JsonArray named = head.getAsJsonArray("recent");
        named.forEach(one -> one.getAsJsonObject().remove("filter"));
        place(head);
        packs.store.newRequests();
        PackFixture.publish(packs.publisher(), List.of(one));
        List<String> requests = packs.store.newRequests();
        assertTrue(requests.size() < 100, () -> requests.size() + " requests");
        assertEquals(List.of(), packs.head().recent());
        List<PackInfo> folded = packs.packs();
        assertEquals(1_000 + Head.FOLDED, folded.size());
        assertTrue(folded.stream().limit(Head.FOLDED).allMatch(pack -> pack.filter()
                .isPresent()));
        recent.add(one);
        recent.forEach(entry -> assertThat(load(entry)).isHitOf(entry));
    }

    @Test
    @DisplayName("a base or head of a newer format: what it names is unavailable, not absent")
    void newerFormat() {
        byte[] body = "{\"format\":2,\"parts\":[]}".getBytes(UTF_8);
        ObjectName name = new ObjectName(7, Sha256.of(body));
        packs.publish(one);
        packs.placeUnpacked(two);
        packs.store.place(PackFixture.KEYS.base(name), body);
        JsonObject head = head();
        head.addProperty("base", name.toString());
        place(head);
        assertThat(load(entries.entry(1))).isUnavailable();
        assertThat(load(one)).isHitOf(one);
        assertThat(load(two)).isHitOf(two);
        head.addProperty("format", 2);
        place(head);
        assertThat(load(one)).isUnavailable();
        assertThat(load(two)).isHitOf(two);
    }

    @Test
    @DisplayName("an index whose entries overlap, so that a few bytes are read repeatedly, is"
            + " refused")
    void overlapping() {
        List<PackLocation> locations = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            locations.add(
                    new PackLocation(PackFixture.hash(random), PackIndex.HEADER_BYTES, 40, 0, 0));
        }
        locations.sort(Comparator.comparing(PackLocation::id, PackIndex.ORDER));
        long end = PackIndex.HEADER_BYTES + 100L;
        assertThat(PackIndex.decode(
                        PackIndex.encode(locations.subList(0, 2), end, PackFixture.NAMESPACE),
                        end,
                        PackFixture.NAMESPACE))
                .isOk();
        assertThat(PackIndex.decode(
                        PackIndex.encode(locations, end, PackFixture.NAMESPACE),
                        end,
                        PackFixture.NAMESPACE))
                .isBad();
    }

    @Test
    @DisplayName("an index that points at another entry, or whose rows are of another pack: a"
            + " miss, and never another entry's bytes")
    void misleadingIndex() {
        Entry other = entries.entry(100);
        PackInfo pack = packs.publish(one, other);
        packs.placeUnpacked(two);
        String key = PackFixture.KEYS.pack(pack.name());
        byte[] body = packs.store.body(key);
        PackIndex index = assertThat(PackIndex.decode(
                        Arrays.copyOfRange(body, (int) pack.indexOffset(), body.length),
                        pack.indexOffset(),
                        PackFixture.NAMESPACE))
                .isOk();
        List<PackLocation> swapped = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            PackLocation from = index.locations().get(1 - i);
            swapped.add(new PackLocation(
                    index.locations().get(i).id(),
                    from.offset(),
                    from.length(),
                    from.checksum(),
                    from.compileNanos()));
        }
        byte[] hostile = PackIndex.encode(swapped, pack.indexOffset(), PackFixture.NAMESPACE);
        ByteBuffer.wrap(body).put((int) pack.indexOffset(), hostile);
        packs.store.place(key, body);
        assertMiss("swapped rows");
        assertThat(load(other)).isDamaged();
    }

    @Test
    @DisplayName("a server that answers each request with the largest body allowed: a miss")
    void largestBodies() {
        packs.publish(one);
        packs.placeUnpacked(two);
        MemoryObjectStore endless = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                return new GetResult.TooLarge(limit);
            }

            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return new GetResult.TooLarge(length);
            }
        };
        try (PackLookupDriver machine = new PackLookupDriver(packs, endless, Optional.empty())) {
            assertThat(machine.load(one)).isUnavailable();
        }
    }

    @Test
    @DisplayName("a filter of the ids of an index is that of its row")
    void filterOfIndex() {
        PackInfo pack = packs.publish(one, two);
        byte[] body = packs.store.body(PackFixture.KEYS.pack(pack.name()));
        PackIndex index = assertThat(PackIndex.decode(
                        Arrays.copyOfRange(body, (int) pack.indexOffset(), body.length),
                        pack.indexOffset(),
                        PackFixture.NAMESPACE))
                .isOk();
        assertEquals(
                pack.json(), pack.with(Optional.of(IdBloomFilter.of(index))).json());
    }
}
