package dev.granary.s3.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** A bucket whose listings contain foreign keys, or never end. */
class ForeignKeysTest {
    private static final String HASH = "ab" + "0".repeat(62);
    private static final String PACK = "00000000000000ab-" + HASH + ".pack";

    private final TestEntries entries = new TestEntries("ForeignKeysTest");
    private final Entry mine = entries.entry(100);

    /** A bucket whose listings begin with foreign keys. */
    private static MemoryObjectStore lying(List<String> foreign) {
        return new MemoryObjectStore() {
            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                foreign.forEach(key -> visitor.accept(new Listed(key, 100, "e", 0)));
                return super.list(prefix, visitor);
            }
        };
    }

    private static List<String> foreign() {
        List<String> keys = new ArrayList<>(List.of(
                "",
                "x",
                "v2/",
                "granary.json",
                "../" + PackFixture.NAMESPACE + "/head",
                PackFixture.KEYS.unpackedPrefix(),
                PackFixture.KEYS.packPrefix()));
        for (String prefix :
                List.of(PackFixture.KEYS.unpackedPrefix(), PackFixture.KEYS.packPrefix())) {
            String other = "#".repeat(prefix.length()); // of the right length
            for (String name : List.of("ab/" + HASH, PACK)) {
                keys.add(other + name);
                keys.add(prefix.toUpperCase(Locale.ROOT) + name);
                keys.add(prefix + name.toUpperCase(Locale.ROOT));
                keys.add("../" + prefix.substring(3) + name);
                keys.add(prefix + "more/" + name);
                keys.add(prefix + name + "/more");
                keys.add(prefix + name.replace("ab", "cd").replaceFirst("cd", "ab"));
            }
        }
        keys.remove(PackFixture.KEYS.unpackedPrefix() + "ab/" + HASH);
        keys.removeIf(key -> key.equals(PackFixture.KEYS.packPrefix() + PACK));
        return keys;
    }

    @Test
    @DisplayName("no key without the prefix is that of an entry or a pack, whatever its length")
    void keys() {
        BucketLayout layout = new BucketLayout(new S3Location("bucket", ""));
        SplittableRandom random = TestSeed.random("ForeignKeysTest.keys");
        List<String> keys = new ArrayList<>(foreign());
        for (int i = 0; i < 10_000; i++) {
            String key = keys.get(random.nextInt(keys.size()));
            int at = random.nextInt(key.length() + 1);
            keys.add(key.substring(0, at)
                    + (char) random.nextInt(32, 127)
                    + key.substring(Math.min(key.length(), at + random.nextInt(2))));
            keys.add(key.substring(at));
        }
        for (String key : keys) {
            UnpackedEntry.of(
                            new ObjectStore.Listed(key, 1, "e", 0),
                            PackFixture.KEYS.unpackedPrefix())
                    .ifPresent(entry -> assertEquals(
                            PackFixture.KEYS.unpackedPrefix() + entry.id().hex().substring(0, 2)
                                    + "/" + entry.id().hex(),
                            key));
            layout.listed(new ObjectStore.Listed(key, 1, "e", 0))
                    .ifPresent(entry ->
                            assertEquals(layout.entry(entry.namespace(), entry.hash()), key));
            boolean isOfLayout = key.startsWith(layout.root());
            assertTrue(isOfLayout || !layout.isPack(key), key);
            assertTrue(isOfLayout || layout.headNamespace(key).isEmpty(), key);
            PackFixture.KEYS
                    .packName(key)
                    .ifPresent(name -> assertEquals(PackFixture.KEYS.pack(name), key));
            PackFixture.KEYS
                    .baseName(key)
                    .ifPresent(name -> assertEquals(PackFixture.KEYS.base(name), key));
        }
    }

    @Test
    @DisplayName("warming and compacting a bucket that lists foreign keys: they are skipped and"
            + " never requested")
    void passedOver() throws Exception {
        MemoryObjectStore store = lying(foreign().stream()
                .filter(key -> !key.startsWith(PackFixture.KEYS.packPrefix() + "ab" + "cd"))
                .toList());
        PackFixture bucket = new PackFixture("ForeignKeysTest");
        store.place(PackFixture.unpackedKey(mine), PackFixture.encoded(mine));
        BulkEntryReader reader = reader(bucket, store);
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        assertEquals(Optional.empty(), plan.unlisted());
        assertTrue(
                plan.unpacked().stream().allMatch(entry -> entry.key()
                        .startsWith(PackFixture.KEYS.unpackedPrefix())),
                plan.unpacked()::toString);
        assertTrue(plan.unpacked().stream()
                .anyMatch(entry -> entry.id().equals(mine.id().hash())));
        CompactionPlan planned = bucket.compactor(store).plan(Set.of());
        assertTrue(planned.folded() >= 1);
    }

    private static BulkEntryReader reader(PackFixture bucket, ObjectStore store) {
        return new BulkEntryReader(bucket.register(store), PackIndexCache.NONE, TrustPolicy.OFF);
    }

    /** A bucket whose listings of entries never end; counts the listed keys. */
    private static final class Endless extends MemoryObjectStore {
        private final long bytes;
        private long listed;

        Endless(long bytes) {
            this.bytes = bytes;
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            boolean isEntry = prefix.endsWith("/e/");
            for (long i = 0; i < (isEntry ? 3_000_000 : 200_000); i++) {
                String name = Sha256.of(Long.toString(i).getBytes(UTF_8)).hex();
                listed++;
                visitor.accept(new Listed(
                        prefix + (isEntry ? name.substring(0, 2) + "/" + name : name + ".pack"),
                        bytes,
                        "e",
                        0));
            }
            if (isEntry) {
                throw new AssertionError("the listing was not stopped");
            }
            // as many as a transport passes on at most, or fewer
            return new ListResult.Complete(200_000);
        }
    }

    @Test
    @DisplayName("an endless listing: a plan to warm has 100,000 entries, advises compaction,"
            + " and the sum of sizes is not negative")
    void endlessWarming() throws Exception {
        Endless store = new Endless(Long.MAX_VALUE / 2);
        BulkEntryReader reader = reader(new PackFixture("ForeignKeysTest"), store);
        BulkReadPlan plan = reader.plan(BulkEntryReader.UnpackedEntries.READ, _ -> true);
        assertEquals(BulkReadPlan.MAX_UNPACKED, plan.unpackedEntries());
        assertEquals(BulkReadPlan.MAX_UNPACKED + 1, store.listed);
        assertTrue(plan.unlisted().orElseThrow().contains("granary compact"), plan::toString);
        assertEquals(100_000L * EntryFormat.MAX_BYTES, plan.bytes());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("an endless listing: one compaction packs 100,000 entries")
    void endlessCompaction() throws Exception {
        Endless store = new Endless(100);
        CompactionPlan plan =
                new PackFixture("ForeignKeysTest").compactor(store).plan(Set.of());
        assertEquals(100_000, plan.folded());
        assertEquals(100_001, store.listed);
    }

    @Test
    @DisplayName("listed entries are distinguished by namespace and id, among a million")
    void reported() {
        ListedEntrySet reported = new ListedEntrySet();
        SplittableRandom random = TestSeed.random("ForeignKeysTest.told");
        byte[] digest = new byte[Sha256.BYTES];
        for (int i = 0; i < 1_000_000; i++) {
            random.nextBytes(digest);
            assertTrue(reported.add("a", Sha256.ofDigest(digest)));
            if (i % 1000 == 0) {
                assertTrue(!reported.add("a", Sha256.ofDigest(digest)));
                assertTrue(reported.add("b", Sha256.ofDigest(digest)));
            }
        }
        byte[] zeros = new byte[Sha256.BYTES];
        assertTrue(reported.add("", Sha256.ofDigest(zeros)));
        assertTrue(!reported.add("", Sha256.ofDigest(zeros)));
    }
}
