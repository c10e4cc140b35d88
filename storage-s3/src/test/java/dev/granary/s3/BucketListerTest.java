package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Tests of the listing of a bucket: unpacked and packed entries of all targets, each once. */
class BucketListerTest {
    private static final Comparator<Sha256> BY_HEX = Comparator.comparing(Sha256::hex);

    private final PackFixture packs = new PackFixture("BucketListerTest");
    private final TestEntries entries = new TestEntries("BucketListerTest");
    private final BucketTier tier = new BucketTier(
            S3Config.builder("bucket").build(),
            _ -> packs.store,
            new TestTicker(),
            TestSeed.random("BucketListerTest"));
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(200);
    private final Entry three = entries.entry(300);

    private List<EntryCatalog.Listed> list() throws IOException {
        List<EntryCatalog.Listed> all = new ArrayList<>();
        tier.list(all::add);
        return all;
    }

    private static List<Sha256> hashes(Entry... all) {
        return List.of(all).stream()
                .map(entry -> entry.id().hash())
                .sorted(BY_HEX)
                .toList();
    }

    @Test
    @DisplayName("an entry that is unpacked, in a pack, in two packs, or both is listed once, with"
            + " its length and the time of its object")
    void once() throws Exception {
        assertEquals(List.of(), list());
        tier.store(one);
        packs.publish(one, two);
        packs.publish(two, three);
        List<EntryCatalog.Listed> all = list();
        assertEquals(
                hashes(one, two, three),
                all.stream().map(EntryCatalog.Listed::hash).sorted(BY_HEX).toList());
        assertTrue(
                all.stream()
                        .allMatch(entry -> entry.namespace().equals(TestEntries.TARGET.path())
                                && entry.lastUsedMillis() == 1_700_000_000_000L
                                && entry.bytes() > 100),
                all::toString);
    }

    @Test
    @DisplayName("no target has a name outside of the layout: keys with only dots, and foreign"
            + " keys, are no entries")
    void targets() throws Exception {
        String name = one.id().hash().hex();
        for (String target : List.of(
                "opencl/..",
                "opencl/.",
                "opencl/.x",
                "../x",
                "opencl/a/b",
                "opencl/" + "x".repeat(300))) {
            packs.store.place(
                    "v2/" + target + "/e/" + name.substring(0, 2) + "/" + name, new byte[10]);
            packs.store.place("v2/" + target + "/head", new byte[10]);
        }
        assertEquals(List.of(), list());
    }

    @Test
    @DisplayName("an exception of the visitor ends the listing and propagates")
    void throwingVisitor() throws Exception {
        tier.store(one);
        tier.store(two);
        IllegalStateException stop = new IllegalStateException("enough");
        List<EntryCatalog.Listed> seen = new ArrayList<>();
        assertEquals(
                stop,
                assertThrows(
                        IllegalStateException.class,
                        () -> tier.list(entry -> {
                            seen.add(entry);
                            throw stop;
                        })));
        assertEquals(1, seen.size());
        assertEquals(2, list().size());
    }

    @Test
    @DisplayName("a missing pack has no entries, and all others are listed")
    void lostPack() throws Exception {
        PackInfo missing = packs.publish(one, two);
        packs.publish(three);
        packs.remove(missing);
        assertEquals(
                hashes(three), list().stream().map(EntryCatalog.Listed::hash).toList());
    }

    @Test
    @DisplayName("with a damaged index the listing fails, and works after a compaction")
    void damagedIndex() throws Exception {
        String key = PackFixture.KEYS.pack(packs.publish(one, two).name());
        byte[] pack = packs.store.body(key);
        pack[pack.length - 1] ^= 1;
        packs.store.place(key, pack);
        String message = assertThrows(IOException.class, this::list).toString();
        assertTrue(message.contains(key + " cannot be listed: "), message);
        assertEquals(1, packs.compact().lostPacks().size());
        assertEquals(List.of(), list());
    }

    @Test
    @DisplayName(
            "a bucket that cannot be listed, and unreadable packs, are reported in one sentence")
    void unreadable() throws Exception {
        packs.publish(one);
        packs.store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.DENIED)));
        assertTrue(assertThrows(IOException.class, this::list)
                .toString()
                .contains("could not be listed: 403 AccessDenied"));
        packs.store.plan(FaultPlan.when(
                request -> request.key().endsWith("/head"), new Fault.Lost(Fault.DENIED)));
        assertTrue(assertThrows(IOException.class, this::list)
                .toString()
                .contains("head cannot be read: 403"));
        packs.store.plan(FaultPlan.when(
                request -> request.key().contains("/p/"), new Fault.Lost(Fault.TIMEOUT)));
        assertTrue(assertThrows(IOException.class, this::list)
                .toString()
                .contains("index of a pack cannot be read: no answer"));
    }

    @Test
    @DisplayName("packs of more than 100,000 targets are reported, not left out in silence")
    void manyTargets() {
        for (int i = 0; i <= 100_000; i++) {
            packs.store.place("v2/opencl/t" + i + "/head", new byte[10]);
        }
        String message = assertThrows(IOException.class, this::list).toString();
        assertTrue(message.contains("packs of more than 100000 targets"), message);
    }

    @Test
    @DisplayName("with a damaged head or a missing base the listing fails with the cause")
    void damagedHead() throws Exception {
        do {
            packs.publish(entries.entry(1));
        } while (packs.head().base().isEmpty());
        packs.store.remove(PackFixture.KEYS.base(packs.head().base().orElseThrow()));
        assertTrue(assertThrows(IOException.class, this::list).toString().contains("is missing"));
        packs.store.place(PackFixture.KEYS.head(), new byte[50]);
        assertTrue(assertThrows(IOException.class, this::list)
                .toString()
                .contains("the object is no head"));
    }
}
