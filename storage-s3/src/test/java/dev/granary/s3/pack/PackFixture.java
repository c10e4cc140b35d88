package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestSeed;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * A bucket in memory with the packs of {@link TestEntries#TARGET}, and the operations of tests on
 * them.
 */
public final class PackFixture {
    /** The common prefix of all keys. */
    static final String ROOT = "v1/";

    public static final String NAMESPACE = TestEntries.TARGET.path();
    public static final TargetLayout KEYS = new TargetLayout(ROOT, NAMESPACE);

    /** The bucket. */
    public final RecordingObjectStore store = new RecordingObjectStore();

    private final RandomGenerator random; // shared by threads

    /** Creates an empty bucket for the test of that name. */
    public PackFixture(String test) {
        this.random = new Random(TestSeed.random(test).nextLong());
    }

    public RandomGenerator random() {
        return random;
    }

    /** Returns the packs that the newest manifest does not name, to be removed at any age. */
    List<BucketRemover.Orphan> unnamedPacks() {
        PackManifest newest = newest();
        return store.keys().stream()
                .filter(key -> key.endsWith(".pack"))
                .map(key -> Sha256.parse(key.substring(key.length() - 69, key.length() - 5)))
                .filter(pack -> !newest.names(pack))
                .map(pack -> new BucketRemover.Orphan(pack, Duration.ZERO))
                .toList();
    }

    /** Returns the number of packs in the bucket, named by a manifest or not. */
    long packObjects() {
        return store.keys().stream().filter(key -> key.endsWith(".pack")).count();
    }

    /** Publishes entries, which must all be accepted and get a result. */
    static List<StoreResult> publish(PackPublisher publisher, List<Entry> all) {
        List<StoreResult> results = new ArrayList<>();
        all.forEach(entry -> assertTrue(publisher.add(entry, results::add)));
        publisher.finish();
        assertEquals(all.size(), results.size());
        return results;
    }

    /** Returns a reader without a cache of indexes, for a time that stands still. */
    PackReader reader(ObjectStore over) {
        return new PackReader(
                over,
                settings(Optional.empty()),
                Duration.ofMinutes(1),
                Duration.ofSeconds(5),
                () -> 0);
    }

    public PackManifestLog log() {
        return log(store);
    }

    public PackManifestLog log(ObjectStore over) {
        return new PackManifestLog(over, KEYS, random, _ -> {});
    }

    public PackPublisher publisher() {
        return publisher(store);
    }

    public PackPublisher publisher(ObjectStore over) {
        return new PackPublisher(over, KEYS, PackIndexCache.NONE, random, _ -> {});
    }

    public PackCompactor compaction() {
        return compaction(store);
    }

    PackCompactor compaction(ObjectStore over) {
        return new PackCompactor(
                over,
                KEYS,
                PackIndexCache.NONE,
                log(over),
                new PackWriter(over, random, _ -> {}),
                random);
    }

    /** Compacts and seals. */
    public PackCompactor.Result compactAndSeal() {
        return compactAndSeal(() -> {});
    }

    /** Compacts and seals, and runs {@code meanwhile} between planning and the commit. */
    public PackCompactor.Result compactAndSeal(Runnable meanwhile) {
        PackCompactor compaction = compaction();
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        meanwhile.run();
        return compaction.run(plan, PackManifest.UnpackedEntries.NONE, _ -> {});
    }

    /** Publishes an entry in a pack, as a publisher does. */
    public void publishAgain(Entry entry) {
        PackPublisher publisher = publisher();
        if (!publisher.add(entry, result -> assertThat(result).isStored())) {
            throw new IllegalStateException("too large for a pack");
        }
        publisher.finish();
    }

    /**
     * Compacts and seals. An unpacked entry is stored after the plan, and one listing, counted from
     * that of the plan as 1, does not show it.
     */
    public PackCompactor.Result compactAndSealWithLag(int lagging, Entry unseen) {
        int[] listings = {0};
        PackCompactor compaction = compaction(new ForwardingStore(store) {
            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                boolean isLagging =
                        prefix.equals(KEYS.unpackedPrefix()) && ++listings[0] == lagging;
                return super.list(prefix, object -> {
                    if (!isLagging || !object.key().equals(unpackedKey(unseen))) {
                        visitor.accept(object);
                    }
                });
            }
        });
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        placeUnpacked(unseen);
        return compaction.run(plan, PackManifest.UnpackedEntries.NONE, _ -> {});
    }

    /** Commits the intent to seal, as a compaction does that ends before it seals. */
    public void intendToSeal() {
        assertThat(log().commit(base ->
                        ManifestPlan.commit(base.with(PackManifest.UnpackedEntries.SEALING))))
                .isDone();
    }

    /** Puts an unpacked entry into the bucket. */
    public void placeUnpacked(Entry entry) {
        store.place(unpackedKey(entry), encoded(entry), ObjectMarks.NONE);
    }

    public static String unpackedKey(Entry entry) {
        String name = entry.id().hash().hex();
        return KEYS.unpackedPrefix() + name.substring(0, 2) + "/" + name;
    }

    public PackIndexCache indexCache(Path directory) {
        return new PackIndexCache(directory.resolve(NAMESPACE), random);
    }

    PackReader.Settings settings(Optional<Path> indexDirectory) {
        return new PackReader.Settings(ROOT, indexDirectory, random, (Duration _) -> {});
    }

    public static byte[] encoded(Entry entry) {
        return EntryFormat.encode(entry, Compression.NONE, WriteAttemptId.NONE);
    }

    /** Returns a pack of these entries, in no bucket yet. */
    public Pack pack(Entry... entries) {
        return pack(List.of(entries));
    }

    public Pack pack(List<Entry> entries) {
        PackBuilder builder = new PackBuilder(NAMESPACE, random);
        entries.forEach(entry -> builder.add(
                entry.id().hash(), encoded(entry), entry.compileTime().toNanos()));
        return builder.build();
    }

    /** Puts a pack with these entries into the bucket and commits it. */
    public PackInfo publish(Entry... entries) {
        return publish(pack(entries));
    }

    public PackInfo publish(Pack pack) {
        place(pack);
        commit(pack.info());
        return pack.info();
    }

    /** Puts a pack into the bucket; no manifest names it yet. */
    public void place(Pack pack) {
        store.place(KEYS.pack(pack.info().name()), pack.body(), ObjectMarks.NONE);
    }

    public PackManifest commit(PackInfo pack) {
        return assertThat(log().commit(base -> ManifestPlan.commit(base.plus(pack))))
                .isDone();
    }

    /** Replaces a pack by one with these entries, as compaction does, and removes the old one. */
    public PackInfo replace(PackInfo old, Entry... entries) {
        PackInfo with = replaceAndKeep(old, entries);
        remove(old);
        return with;
    }

    /** Replaces a pack by one with these entries; the old one stays for the grace period. */
    public PackInfo replaceAndKeep(PackInfo old, Entry... entries) {
        Pack with = pack(entries);
        place(with);
        assertThat(log().commit(base -> ManifestPlan.commit(base.replacing(
                        Set.of(old.name()), List.of(with.info()), base.unpackedEntries()))))
                .isDone();
        return with.info();
    }

    /** Seals the target. */
    public void seal() {
        assertThat(log().commit(base -> ManifestPlan.commit(
                        base.replacing(Set.of(), List.of(), PackManifest.UnpackedEntries.NONE))))
                .isDone();
    }

    /** Removes a pack that the manifest names from the bucket. */
    public void remove(PackInfo pack) {
        store.remove(KEYS.pack(pack.name()));
    }

    /** Changes one byte of an entry in a pack. */
    public void damage(PackInfo pack, Entry entry) {
        byte[] body = store.body(KEYS.pack(pack.name()));
        PackIndex.Read read = PackIndex.decode(
                Arrays.copyOfRange(body, (int) pack.indexOffset(), body.length),
                pack.indexOffset(),
                NAMESPACE);
        PackLocation location = assertThat(read).isOk().find(entry.id().hash()).orElseThrow();
        body[(int) location.end() - 1] ^= 1;
        store.place(KEYS.pack(pack.name()), body, ObjectMarks.NONE);
    }

    /** Returns the newest manifest; the requests for it are not recorded. */
    public PackManifest newest() {
        RecordingObjectStore copy = new RecordingObjectStore();
        store.keys().forEach(key -> copy.place(key, store.body(key), store.marks(key)));
        return assertThat(log(copy).newest(PackManifest.NONE)).isFound();
    }

    public static Sha256 hash(RandomGenerator random) {
        byte[] bytes = new byte[Sha256.BYTES];
        random.nextBytes(bytes);
        return Sha256.ofDigest(bytes);
    }

    /** Returns the row of a pack that does not exist. */
    public static PackInfo info(RandomGenerator random, int entries) {
        List<Sha256> ids = Stream.generate(() -> hash(random)).limit(entries).toList();
        long indexOffset = PackIndex.HEADER_BYTES + 100L * entries;
        long bytes = indexOffset + (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES;
        return new PackInfo(hash(random), bytes, indexOffset, entries, 0, IdBloomFilter.of(ids));
    }
}
