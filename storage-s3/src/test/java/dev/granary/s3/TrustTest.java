package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.contract.TestKeys;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.format.TrustPolicy.Mode;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;

/** Tests of buckets to which others may write, and whose entries must be signed. */
class TrustTest {
    private static final EntrySigner CI = TestKeys.signer("ci", 1);
    private static final TrustPolicy REQUIRE = TestKeys.policy(Mode.REQUIRE, "ci", 1);
    private static final int ATTACKS = 400;

    /** The form, the name "ci" with its length, and the signature of the root. */
    private static final int SHARED_BYTES = 2 + 2 + 64;

    private final SplittableRandom random = TestSeed.random("TrustTest");
    private final TestEntries entries = new TestEntries("TrustTest");
    private final Entry entry = entries.entry(500);
    private final Entry signed = CI.sign(entry);
    private MemoryObjectStore store = new MemoryObjectStore();

    private BucketTier tier(TrustPolicy trust) {
        MemoryObjectStore over = store;
        return new BucketTier(
                S3Config.builder("bucket").trust(trust).build(),
                _ -> over,
                new TestTicker(),
                random.split());
    }

    /** Returns other binaries under the same id, signed by somebody else, or not. */
    private Entry evil(Entry sound) {
        Entry other = TestEntries.entry(sound.id(), KernelBinaries.of(new byte[] {6, 6, 6}));
        return random.nextBoolean() ? other : TestKeys.signer("laptop", 2).sign(other);
    }

    @Test
    @DisplayName(
            "an unsigned entry is untrusted, not absent; a signed one takes its place, whatever"
                    + " the content")
    void replaced() {
        for (Entry first : List.of(entry, evil(entry))) {
            for (Mode mode : List.of(Mode.REQUIRE, Mode.WARN)) {
                store = new MemoryObjectStore();
                assertThat(tier(TrustPolicy.OFF).store(first)).isStored();
                BucketTier reader = tier(REQUIRE);
                for (int i = 0; i < 2; i++) {
                    assertThat(reader.load(entry.id())).isDamaged(DamageKind.UNTRUSTED);
                }
                assertThat(tier(TestKeys.policy(mode, "ci", 1)).store(signed)).isStored();
                assertThat(reader.load(entry.id())).isHitOf(signed);
                assertThat(tier(REQUIRE).store(signed)).isDuplicate();
            }
        }
    }

    @Test
    @DisplayName("what no reader would trust is not published; without a policy the first stays")
    void notPublished() {
        assertEquals(
                new StoreResult.Refused(
                        StoreResult.Scope.ENTRY,
                        "it is not signed; sign with GRANARY_SIGNING_KEY, or only read here"),
                tier(REQUIRE).store(entry));
        assertThat(tier(REQUIRE).load(entry.id())).isAbsent();
        assertThat(tier(REQUIRE).store(signed)).isStored();
        assertThat(tier(TrustPolicy.OFF).store(entry)).isDuplicate();
        assertThat(tier(TrustPolicy.OFF).store(evil(entry))).isDivergent();
        assertThat(tier(REQUIRE).load(entry.id())).isHitOf(signed);
    }

    @Test
    @DisplayName("an unsigned publisher that renews an old duplicate keeps its signature")
    void renewed() {
        assertThat(tier(REQUIRE).store(signed)).isStored();
        store.pass(Duration.ofDays(1));
        store.forgetRequests();
        assertThat(tier(TrustPolicy.OFF).store(entry)).isDuplicate();
        assertTrue(store.requests().stream().anyMatch(each -> each.contains("PUT match")));
        assertThat(tier(REQUIRE).load(entry.id())).isHitOf(signed);
    }

    @Test
    @DisplayName("whatever somebody with write access makes of the objects: a trusted entry or a"
            + " miss; and a trusted publisher heals it")
    void attacked() {
        List<Entry> sound = IntStream.range(0, 6)
                .mapToObj(_ -> CI.sign(entries.entry(100 + random.nextInt(1000))))
                .toList();
        MemoryObjectStore trusted = bucket(sound);
        MemoryObjectStore evil = bucket(sound.stream().map(this::evil).toList());
        int hits = 0;
        for (int attack = 0; attack < ATTACKS; attack++) {
            store = attacked(trusted, evil);
            BucketTier reader = tier(REQUIRE);
            for (Entry each : sound) {
                LoadResult found = reader.load(each.id());
                if (found instanceof LoadResult.Hit(Entry hit)) {
                    assertEquals(each.binaries(), hit.binaries());
                    hits++;
                }
            }
            BucketTier publisher = tier(REQUIRE);
            sound.forEach(each -> {
                StoreResult stored = publisher.store(each);
                assertTrue(
                        stored instanceof StoreResult.Stored
                                || stored instanceof StoreResult.Duplicate,
                        stored::toString);
            });
            BucketTier later = tier(REQUIRE);
            sound.forEach(each -> assertThat(later.load(each.id())).isHitOf(each));
        }
        int all = ATTACKS * sound.size();
        assertTrue(hits > all / 4 && hits < all, hits + " of " + all);
    }

    /** Returns a bucket with half of the entries in a pack, and two of three unpacked. */
    private MemoryObjectStore bucket(List<Entry> content) {
        PackFixture packs = new PackFixture("TrustTest");
        packs.publish(content.subList(0, 3).toArray(Entry[]::new));
        store = packs.store;
        content.subList(2, 6)
                .forEach(each -> assertThat(tier(TrustPolicy.OFF).store(each)).isStored());
        return packs.store;
    }

    /** Each object stays, goes, or becomes that of another key, of either bucket. */
    private MemoryObjectStore attacked(MemoryObjectStore trusted, MemoryObjectStore evil) {
        MemoryObjectStore attacked = new MemoryObjectStore();
        Set<String> keys = new TreeSet<>(trusted.keys());
        keys.addAll(evil.keys());
        List<byte[]> objects = new ArrayList<>();
        for (MemoryObjectStore each : List.of(trusted, evil)) {
            each.keys().forEach(key -> objects.add(each.body(key)));
        }
        int sparing = 1 + random.nextInt(8);
        for (String key : keys) {
            switch (random.nextInt(3 + sparing)) {
                case 0 -> attacked.place(key, objects.get(random.nextInt(objects.size())));
                case 1 -> {}
                case 2 -> attacked.place(key, of(evil.keys().contains(key) ? evil : trusted, key));
                default ->
                    attacked.place(key, of(trusted.keys().contains(key) ? trusted : evil, key));
            }
        }
        return attacked;
    }

    private static byte[] of(MemoryObjectStore bucket, String key) {
        return bucket.body(key);
    }

    @Test
    @DisplayName("the entries of a pack that its process signed share a signature, also after a"
            + " compaction; an entry that it passes on keeps its own")
    void packed() throws Exception {
        MemoryObjectStore unpacked = store;
        assertThat(tier(TrustPolicy.OFF).store(signed)).isStored();
        Entry passedOn = assertThat(tier(TrustPolicy.OFF).load(entry.id())).isHit();
        List<Entry> all = new ArrayList<>(List.of(passedOn));
        IntStream.range(0, 5).forEach(i -> all.add(CI.sign(entries.entry(100 * i))));
        PackFixture packs = new PackFixture("TrustTest");
        PackFixture.publish(packs.publisher(), all);
        packs.publish(CI.sign(entries.entry(100)));
        for (boolean isCompacted : List.of(false, true)) {
            if (isCompacted) {
                packs.compact();
            }
            store = packs.store;
            assertThat(tier(REQUIRE).load(entry.id())).isHitOf(signed);
            assertEquals(signature(entry, unpacked), signature(entry, packs.store));
            Set<String> shared = new TreeSet<>();
            for (Entry each : all.subList(1, all.size())) {
                assertThat(tier(REQUIRE).load(each.id())).isHitOf(each);
                shared.add(signature(each, packs.store).substring(0, 2 * SHARED_BYTES));
            }
            assertEquals(1, shared.size());
        }
    }

    private String signature(Entry of, MemoryObjectStore bucket) {
        store = bucket;
        Entry read = assertThat(tier(TrustPolicy.OFF).load(of.id())).isHit();
        byte[] stored = EntryFormat.encode(read, Compression.NONE);
        int unsigned = EntryFormat.encode(
                        Entry.of(
                                read.id(),
                                read.binaries(),
                                read.compileTime(),
                                read.metadata().orElseThrow()),
                        Compression.NONE)
                .length;
        int end = stored.length - (int) read.binaries().byteSize();
        return HexFormat.of().formatHex(stored, end - (stored.length - unsigned), end);
    }
}
