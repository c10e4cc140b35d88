package dev.granary.s3.pack.compact;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackLookupDriver;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The entries and packs that compaction packs, merges, rewrites, removes, and leaves. */
class PackCompactorTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final Duration MOMENT = Duration.ofSeconds(1);
    private static final int VERSION_AT = 8; // in an entry, followed by the flags
    private static final int COUNT_AT = 12;

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

    private CompactionPlan plan() {
        PackCompactor.Planned planned = bucket.compaction().plan(GRACE);
        return assertThat(planned).isReady();
    }

    private PackCompactor.Result.Done compact() {
        return compact(PackManifest.UnpackedEntries.POSSIBLE);
    }

    private PackCompactor.Result.Done compact(PackManifest.UnpackedEntries unpackedEntries) {
        PackCompactor.Result result = bucket.compaction().run(plan(), unpackedEntries, _ -> {});
        return assertThat(result).isDone();
    }

    private void assertFound(List<Entry> all) {
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
        }
    }

    private long count(String range) {
        return store.keys().stream().filter(key -> key.contains(range)).count();
    }

    private static List<Entry> all(List<Entry> some, List<Entry> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }

    @Test
    @DisplayName(
            "R18 an unpacked entry goes into a pack; it is removed when the grace period is over"
                    + " by the server's clock, and not earlier")
    void folds() {
        List<Entry> all = placeUnpacked(100);
        assertEquals(
                List.of(100L, 0L, 0L, 0L),
                List.of(plan().folded(), plan().merged(), plan().removed(), plan().waiting()));
        assertEquals(
                new PackCompactor.Result.Done(
                        100, 1, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(List.of(1L, 100L), List.of(count("/p/"), count("/e/")));
        assertFound(all);
        store.pass(GRACE.minus(MOMENT));
        assertEquals(List.of(0L, 100L), List.of(plan().removed(), plan().waiting()));
        assertEquals(
                new PackCompactor.Result.Done(
                        0, 0, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(1, bucket.newest().number(), "nothing was to be committed");
        store.pass(MOMENT);
        assertEquals(List.of(100L, 0L), List.of(plan().removed(), plan().waiting()));
        assertEquals(
                new PackCompactor.Result.Done(
                        0, 0, 100, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(List.of(1L, 0L), List.of(count("/p/"), count("/e/")));
        assertFound(all);
        assertTrue(plan().isEmpty());
    }

    @Test
    @DisplayName(
            "small packs are merged, a shared entry is stored once; the old ones are removed after"
                    + " the grace period, and the manifest drops them")
    void merges() {
        List<Entry> all = entries(40, 100);
        for (int i = 0; i < 4; i++) {
            publish(all.subList(5 * i, 5 * i + 25));
        }
        List<Entry> unpackedEntries = placeUnpacked(3);
        assertEquals(4, plan().merged());
        assertEquals(
                new PackCompactor.Result.Done(
                        43, 1, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(
                List.of(43),
                bucket.newest().packs().stream().map(PackInfo::entries).toList());
        assertEquals(4, bucket.newest().retired().size());
        store.pass(GRACE.minus(MOMENT));
        assertEquals(0, compact().removed());
        assertEquals(5, count("/p/"));
        store.pass(MOMENT);
        assertEquals(4 + 3, compact().removed());
        assertEquals(1, count("/p/"));
        assertEquals(List.of(), bucket.newest().retired());
        assertFound(all(all, unpackedEntries));
        assertTrue(plan().isEmpty());
    }

    @Test
    @DisplayName("a large pack stays while half of it is live, and is rewritten when less is")
    void rewrites() {
        List<Entry> first = entries(5, 4 << 20);
        List<Entry> half = all(first.subList(0, 2), entries(2, 5 << 20));
        List<Entry> less = all(first.subList(2, 5), entries(2, 4 << 20));
        publish(first);
        publish(half);
        assertEquals(0, plan().merged());
        publish(less);
        assertEquals(1, plan().merged());
        assertEquals(
                new PackCompactor.Result.Done(
                        2, 1, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(
                List.of(5, 4, 2),
                bucket.newest().packs().stream().map(PackInfo::entries).toList());
        assertFound(all(first, all(half, less)));
        assertTrue(plan().merged() == 0, "a single small pack has no company");
    }

    @Test
    @DisplayName("entries larger than a pack in total go into several, each read in bounded ranges")
    void several() {
        List<Entry> all = entries(22, 2 << 20);
        all.subList(0, 14).forEach(bucket::placeUnpacked);
        publish(all.subList(14, 18));
        publish(all.subList(18, 22));
        List<Long> reported = new ArrayList<>();
        CompactionPlan plan = plan();
        assertThat(bucket.compaction()
                        .run(plan, PackManifest.UnpackedEntries.POSSIBLE, reported::add))
                .isDone();
        assertEquals(2, bucket.newest().packs().size());
        assertTrue(
                store.longestRange() <= (8 << 20) + (3 << 20),
                store.longestRange() + " bytes in one part");
        assertEquals(reported.stream().sorted().toList(), reported);
        assertEquals(plan.bytes(), reported.getLast());
        assertFound(all);
    }

    @Test
    @DisplayName("unpacked entries of a large pack that stays are counted until the grace period is"
            + " over; a plan has memory only for those that may be needed")
    void waiting() {
        List<Entry> large = entries(5, 4 << 20);
        List<Entry> small = entries(3, 100);
        publish(large);
        publish(small);
        all(large, small).forEach(bucket::placeUnpacked);
        assertEquals(8, plan().waiting());
        assertEquals(
                small.stream().map(entry -> entry.id().hash()).collect(Collectors.toSet()),
                plan().unpacked().packed().keySet());
        store.pass(GRACE);
        assertEquals(8, plan().removed());
        assertEquals(8, plan().unpacked().packed().size());
    }

    /** Puts an unpacked entry with its last byte changed into the bucket; returns its key. */
    private String placeDamaged(Entry entry) {
        byte[] bytes = PackFixture.encoded(entry);
        bytes[bytes.length - 1] ^= 1;
        store.place(PackFixture.unpackedKey(entry), bytes, ObjectMarks.NONE);
        return PackFixture.unpackedKey(entry);
    }

    /** Puts an unpacked entry of an unknown version and layout into the bucket; returns its key. */
    private String placeOfOtherVersion(Entry entry) {
        byte[] bytes = PackFixture.encoded(entry);
        Arrays.fill(bytes, VERSION_AT, VERSION_AT + 2 * Short.BYTES, (byte) 2);
        Arrays.fill(bytes, COUNT_AT, COUNT_AT + Short.BYTES, (byte) -1);
        store.place(PackFixture.unpackedKey(entry), bytes, ObjectMarks.NONE);
        return PackFixture.unpackedKey(entry);
    }

    @Test
    @DisplayName("D6 unpacked entries that remain are counted by cause, damaged ones are named, and"
            + " nothing is sealed")
    void leaves() {
        List<Entry> sound = placeUnpacked(5);
        String damaged = placeDamaged(entries.entry(100));
        assertEquals(
                new PackCompactor.Result.Done(
                        5,
                        1,
                        0,
                        0,
                        LeftEntries.NONE.plusDamaged(damaged),
                        0,
                        PackManifest.UnpackedEntries.POSSIBLE),
                compact(PackManifest.UnpackedEntries.NONE));
        store.remove(damaged);
        String newer = placeOfOtherVersion(entries.entry(100));
        assertEquals(
                LeftEntries.NONE.plusOtherVersion(),
                compact(PackManifest.UnpackedEntries.NONE).left());
        store.remove(newer);
        Entry large = entries.entry(PackIndex.MAX_ENTRY_BYTES);
        bucket.placeUnpacked(large);
        assertEquals(1, plan().tooLarge());
        assertEquals(
                new PackCompactor.Result.Done(
                        0,
                        0,
                        0,
                        0,
                        LeftEntries.NONE.plusTooLarge(1),
                        0,
                        PackManifest.UnpackedEntries.POSSIBLE),
                compact(PackManifest.UnpackedEntries.NONE));
        assertFound(all(sound, List.of(large)));
    }

    @Test
    @DisplayName("D6 an unpacked entry that cannot be read now, or is gone since the listing, is no"
            + " damage, nor is one wrong response")
    void unread() {
        Entry entry = placeUnpacked(1).getFirst();
        CompactionPlan plan = plan();
        store.script(new Fault.Lost(TIMEOUT));
        PackCompactor.Result result =
                bucket.compaction().run(plan, PackManifest.UnpackedEntries.NONE, _ -> {});
        assertEquals(LeftEntries.NONE.plusUnread(1), assertThat(result).isDone().left());
        store.beforeEach(() -> {
            if (store.namedRequests().getLast().equals("GET entry")) {
                store.remove(PackFixture.unpackedKey(entry));
            }
        });
        assertEquals(
                new PackCompactor.Result.Done(
                        0,
                        0,
                        0,
                        0,
                        LeftEntries.NONE.plusGone(),
                        0,
                        PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        store.beforeEach(() -> {});
        bucket.placeUnpacked(entry);
        CompactionPlan again = plan();
        store.script(new Fault.Changed(Fault.Change.LONGER));
        result = bucket.compaction().run(again, PackManifest.UnpackedEntries.NONE, _ -> {});
        assertEquals(
                new PackCompactor.Result.Done(
                        1, 1, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.NONE),
                result);
        assertFound(List.of(entry));
    }

    @Test
    @DisplayName("D6 of many damaged entries 100 are named and all are counted")
    void manyDamaged() {
        for (int i = 0; i < LeftEntries.MAX_NAMED + 3; i++) {
            placeDamaged(entries.entry(10));
        }
        LeftEntries left = compact().left();
        assertEquals(
                List.of(103L, 103L, 100),
                List.of(left.damaged(), left.total(), left.damagedKeys().size()));
    }

    @Test
    @DisplayName(
            "R12 sealed: absent ids cost no request; the next compaction without sealing removes"
                    + " the seal")
    void seals() {
        List<Entry> all = placeUnpacked(5);
        assertEquals(
                PackManifest.UnpackedEntries.NONE,
                compact(PackManifest.UnpackedEntries.NONE).unpackedEntries());
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
            store.newRequests();
            assertThat(reading.load(entries.entry(1))).isAbsent();
            assertEquals(List.of(), store.newRequests());
        }
        long number = bucket.newest().number();
        assertEquals(
                PackManifest.UnpackedEntries.NONE,
                compact(PackManifest.UnpackedEntries.NONE).unpackedEntries());
        assertEquals(number, bucket.newest().number());
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, compact().unpackedEntries());
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
    }

    @Test
    @DisplayName(
            "R18 a lost or damaged pack is no longer named, its entries that are also unpacked are"
                    + " packed; a silent one stays")
    void lostPacks() {
        List<Entry> gone = entries(3, 100);
        List<Entry> unreadable = entries(4, 100);
        List<Entry> sound = entries(5, 100);
        bucket.remove(publish(gone));
        PackInfo bad = publish(unreadable);
        store.place(
                PackFixture.KEYS.pack(bad.name()),
                entries.bytes((int) bad.bytes()),
                ObjectMarks.NONE);
        publish(sound);
        bucket.placeUnpacked(gone.get(1));
        store.plan(FaultPlan.when(
                request -> request.operation().equals("GET range"), new Fault.Lost(TIMEOUT)));
        PackCompactor.Planned planned = bucket.compaction().plan(GRACE);
        assertTrue(
                assertThat(planned).isUnavailable().contains("index of a pack"), planned::toString);
        store.plan(FaultPlan.SOUND);
        CompactionPlan plan = plan();
        assertEquals(List.of(2L, 1L), List.of(plan.lost(), plan.folded()));
        assertThat(bucket.compaction().run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}))
                .isDone();
        assertEquals(1, bucket.newest().packs().size());
        assertEquals(6, bucket.newest().entries());
        assertFound(all(sound, gone.subList(1, 2)));
        store.pass(GRACE);
        assertEquals(1 + 2 + 1, compact().removed());
        assertEquals(1, count("/p/"));
    }

    @Test
    @DisplayName("R6 a pack of which a range cannot be read now stays named, and nothing is sealed")
    void silentPart() {
        List<Entry> first = entries(3, 100);
        List<Entry> second = entries(3, 100);
        publish(first);
        publish(second);
        CompactionPlan plan = plan();
        store.script(new Fault.Lost(TIMEOUT));
        PackCompactor.Result result =
                bucket.compaction().run(plan, PackManifest.UnpackedEntries.NONE, _ -> {});
        assertEquals(
                new PackCompactor.Result.Done(
                        3,
                        1,
                        0,
                        0,
                        LeftEntries.NONE.plusUnread(3),
                        0,
                        PackManifest.UnpackedEntries.POSSIBLE),
                result);
        assertEquals(2, bucket.newest().packs().size());
        assertFound(all(first, second));
    }

    @Test
    @DisplayName("D6 an entry that is damaged in a pack and was stored unpacked since is replaced,"
            + " during the grace period and after it")
    void replacesDamaged() {
        List<Entry> all = entries(6, 100);
        PackInfo pack = publish(all);
        bucket.damage(pack, all.get(2));
        bucket.placeUnpacked(all.get(2));
        bucket.placeUnpacked(all.get(4));
        assertFound(all);
        store.pass(GRACE);
        assertEquals(2, plan().removed());
        assertEquals(
                new PackCompactor.Result.Done(
                        6, 1, 1, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.NONE),
                compact(PackManifest.UnpackedEntries.NONE));
        assertEquals(
                List.of(PackFixture.unpackedKey(all.get(2))),
                store.keys().stream().filter(key -> key.contains("/e/")).toList());
        assertFound(all);
        store.pass(GRACE);
        assertEquals(2, compact(PackManifest.UnpackedEntries.NONE).removed());
        assertEquals(List.of(1L, 0L), List.of(count("/p/"), count("/e/")));
        assertFound(all);
    }

    @Test
    @DisplayName(
            "D6 a damaged entry is taken from another merged pack, or an unpacked entry; otherwise"
                    + " it is dropped and reported")
    void copies() {
        List<Entry> all = entries(6, 100);
        PackInfo first = publish(all);
        publish(all.subList(0, 2));
        bucket.damage(first, all.get(1));
        bucket.damage(first, all.get(2));
        bucket.damage(first, all.get(3));
        bucket.placeUnpacked(all.get(2));
        assertEquals(
                new PackCompactor.Result.Done(
                        5, 1, 0, 0, LeftEntries.NONE, 1, PackManifest.UnpackedEntries.NONE),
                compact(PackManifest.UnpackedEntries.NONE));
        List<Entry> retained = new ArrayList<>(all);
        retained.remove(3);
        assertFound(retained);
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertThat(reading.load(all.get(3))).isAbsent();
        }
    }

    @Test
    @DisplayName("K11 a pack of a newer version is left, and so is a newer entry in a pack of this"
            + " version")
    void newer() {
        List<Entry> ours = entries(3, 100);
        publish(ours);
        byte[] strange = PackFixture.encoded(ours.get(0)).clone();
        Entry other = entries.entry(100);
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        builder.add(other.id().hash(), newer(PackFixture.encoded(other)), 7);
        bucket.publish(builder.build());
        PackInfo newer = publish(entries(2, strange.length));
        byte[] body = store.body(PackFixture.KEYS.pack(newer.name()));
        ByteBuffer footer = ByteBuffer.wrap(
                        body, body.length - PackIndex.FOOTER_BYTES, PackIndex.FOOTER_BYTES)
                .slice();
        footer.putInt(8, PackIndex.VERSION + 1);
        footer.putInt(
                PackIndex.FOOTER_BYTES - 4,
                PackIndex.crc(
                        body, body.length - PackIndex.FOOTER_BYTES, PackIndex.FOOTER_BYTES - 4));
        store.place(PackFixture.KEYS.pack(newer.name()), body, ObjectMarks.NONE);
        assertEquals(0, plan().lost());
        assertEquals(
                new PackCompactor.Result.Done(
                        4, 1, 0, 0, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                compact());
        assertEquals(
                Set.of(2, 4),
                Set.copyOf(
                        bucket.newest().packs().stream().map(PackInfo::entries).toList()));
        assertFound(ours);
    }

    private static byte[] newer(byte[] encoded) {
        byte[] changed = encoded.clone();
        TestEntries.setLaterVersion(changed, 0);
        return changed;
    }

    @Test
    @DisplayName("packs that were never named are removed after the orphan age or the grace period,"
            + " whichever is longer")
    void orphans() {
        bucket.place(bucket.pack(entries(3, 100)));
        publish(entries(2, 100));
        assertEquals(List.of(0L, 1L), List.of(plan().removed(), plan().waiting()));
        store.pass(GRACE.minus(MOMENT));
        assertEquals(0, compact().removed());
        PackCompactor.Planned planned = bucket.compaction().plan(Duration.ZERO);
        assertEquals(1, assertThat(planned).isReady().removed());
        store.pass(MOMENT);
        assertEquals(1, compact().removed());
        assertEquals(1, count("/p/"));
        bucket.place(bucket.pack(entries(3, 100)));
        planned = bucket.compaction().plan(Duration.ZERO);
        assertEquals(0, assertThat(planned).isReady().removed());
    }

    @Test
    @DisplayName(
            "objects that may not be removed are reported; without conditional deletes the version"
                    + " is compared first")
    void removal() {
        List<Entry> all = placeUnpacked(3);
        compact();
        store.pass(GRACE);
        store.plan(FaultPlan.when(
                request -> request.operation().startsWith("DELETE"), new Fault.Lost(DENIED)));
        assertEquals(List.of(0L, 3L), List.of(compact().removed(), plan().removed()));
        assertEquals(3, compact().unremoved());
        StoreFailure unsupported = new StoreFailure(
                StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "no conditions here");
        store.plan(FaultPlan.when(
                request -> request.operation().equals("DELETE match"),
                new Fault.Lost(unsupported)));
        CompactionPlan plan = plan();
        bucket.placeUnpacked(all.get(1)); // another writer has just replaced it
        PackCompactor.Result result =
                bucket.compaction().run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertEquals(
                new PackCompactor.Result.Done(
                        0, 0, 2, 1, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                result);
        assertEquals(
                List.of(PackFixture.unpackedKey(all.get(1))),
                store.keys().stream().filter(key -> key.contains("/e/")).toList());
        store.plan(FaultPlan.SOUND);
        CompactionPlan exact = plan();
        bucket.placeUnpacked(all.get(1));
        assertEquals(
                new PackCompactor.Result.Done(
                        0, 0, 0, 1, LeftEntries.NONE, 0, PackManifest.UnpackedEntries.POSSIBLE),
                bucket.compaction().run(exact, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}));
        assertFound(all);
    }

    @Test
    @DisplayName(
            "if an old manifest is gone, the newest one determines the time: later, and never too"
                    + " early")
    void manifestGone() {
        placeUnpacked(3);
        compact();
        store.pass(GRACE);
        publish(entries(1, 100));
        store.remove(PackFixture.KEYS.manifest(1));
        assertEquals(0, plan().removed());
        store.pass(GRACE);
        assertEquals(3, plan().removed());
    }

    @Test
    @DisplayName("O7 a plan changes nothing, and an empty target stays empty")
    void planOnly() {
        compact();
        assertEquals(List.of(), store.keys());
        placeUnpacked(3);
        publish(entries(2, 100));
        List<String> before = store.keys();
        store.newRequests();
        plan();
        assertEquals(before, store.keys());
        assertFalse(store.namedRequests().stream()
                .anyMatch(note -> note.startsWith("PUT")
                        || note.startsWith("DELETE")
                        || note.startsWith("REPLACE")));
        store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(DENIED)));
        PackCompactor.Planned planned = bucket.compaction().plan(GRACE);
        assertTrue(
                assertThat(planned).isUnavailable().contains("cannot be listed"),
                planned::toString);
    }

    @Test
    @DisplayName("another writer replaced a pack meanwhile: overtaken, and the unneeded packs are"
            + " removed")
    void overtaken() {
        List<Entry> first = entries(3, 100);
        List<Entry> second = entries(3, 100);
        PackInfo old = publish(first);
        publish(second);
        CompactionPlan plan = plan();
        bucket.replace(old, first.toArray(Entry[]::new));
        assertThat(bucket.compaction().run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}))
                .isOvertaken();
        assertEquals(2, count("/p/"));
        assertFound(all(first, second));
        assertEquals(1, compact().written());
        assertFound(all(first, second));
        assertEquals(
                Optional.of(6),
                bucket.newest().packs().stream().map(PackInfo::entries).findFirst());
    }
}
