package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackAdopter;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * A bucket in memory with the packs of {@link TestEntries#TARGET}, and the operations of tests on
 * them.
 */
public final class PackFixture {
    private static final BucketLayout LAYOUT = new BucketLayout(new S3Location("bucket", ""));

    public static final String NAMESPACE = TestEntries.TARGET.path();
    public static final TargetLayout KEYS = LAYOUT.target(NAMESPACE);

    /** The bucket. */
    public final RecordingObjectStore store = new RecordingObjectStore();

    /** The clock of all processes. */
    public final TestTicker ticker = new TestTicker();

    private final RandomGenerator random; // shared by threads

    /** Creates an empty bucket for the test of that name. */
    public PackFixture(String test) {
        this.random = new Random(TestSeed.random(test).nextLong());
    }

    public RandomGenerator random() {
        return random;
    }

    // ---- processes

    public Register register() {
        return register(store);
    }

    public Register register(ObjectStore over) {
        return new Register(over, KEYS, random, ticker);
    }

    PackNamer namer(ObjectStore over) {
        return new PackNamer(register(over), _ -> {});
    }

    public PackPublisher publisher() {
        return publisher(store);
    }

    /** Returns a publisher whose unpacked entries are placed in the bucket. */
    public PackPublisher publisher(ObjectStore over) {
        return new PackPublisher(register(over), namer(over), entry -> {
            placeUnpacked(entry);
            return new StoreResult.Stored(encoded(entry).length);
        });
    }

    /** Publishes entries, which must all be accepted and get a result. */
    public static List<StoreResult> publish(PackPublisher publisher, List<Entry> all) {
        List<StoreResult> results = new ArrayList<>();
        all.forEach(entry -> assertTrue(publisher.add(entry, results::add)));
        publisher.finish();
        assertEquals(all.size(), results.size());
        return results;
    }

    public PackCompactor compactor() {
        return compactor(store);
    }

    public PackCompactor compactor(ObjectStore over) {
        return new PackCompactor(register(over));
    }

    /** Plans and runs a compaction, which no other writer disturbs. */
    public CompactionReport compact() throws CompactionException {
        return compact(Set.of());
    }

    /** Plans and runs a compaction that leaves out ids. */
    public CompactionReport compact(Set<String> without) throws CompactionException {
        PackCompactor compactor = compactor();
        return compactor
                .run(compactor.plan(without), Duration.ofDays(1), true, _ -> {})
                .orElseThrow();
    }

    public PackRemover remover() {
        return remover(store);
    }

    public PackRemover remover(ObjectStore over) {
        return new PackRemover(register(over));
    }

    public PackAdopter adopter() {
        return adopter(store);
    }

    public PackAdopter adopter(ObjectStore over) {
        return new PackAdopter(register(over), namer(over));
    }

    /** Returns a reader without a cache of indexes. */
    public PackReader reader(ObjectStore over) {
        return new PackReader(
                over, settings(Optional.empty()), Duration.ofMinutes(1), Duration.ofSeconds(5));
    }

    public PackReader.Settings settings(Optional<Path> indexDirectory) {
        return new PackReader.Settings(LAYOUT, indexDirectory, random, ticker);
    }

    public PackIndexCache indexCache(Path directory) {
        return new PackIndexCache(directory.resolve(NAMESPACE), random);
    }

    /** Returns a server that drops each write to a key with that part, and reports it as done. */
    public ObjectStore dropping(String part) {
        return new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body) {
                return key.contains(part)
                        ? new WriteResult.Done("dropped")
                        : super.putIfAbsent(key, body);
            }

            @Override
            public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                return key.contains(part)
                        ? new WriteResult.Done("dropped")
                        : super.replaceIfMatch(key, etag, body);
            }
        };
    }

    /** Returns true if a machine with an empty directory finds the entry with its content. */
    public boolean isFound(Entry entry) {
        try (PackLookupDriver machine = new PackLookupDriver(this)) {
            return machine.load(entry) instanceof LoadResult.Hit hit
                    && hit.entry().contentHash().equals(entry.contentHash());
        }
    }

    // ---- the state of the bucket

    /** Returns the head; the requests for it are not recorded. */
    public Head head() {
        try {
            return register(copy()).read().orElseThrow().head();
        } catch (RegisterException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the packs that the head names, those of its base last. */
    public List<PackInfo> packs() {
        try {
            return register(copy()).packs();
        } catch (RegisterException e) {
            throw new IllegalStateException(e);
        }
    }

    private RecordingObjectStore copy() {
        RecordingObjectStore copy = new RecordingObjectStore();
        store.keys().forEach(key -> copy.place(key, store.body(key)));
        return copy;
    }

    /** Returns the number of packs in the bucket, named by the head or not. */
    public long packObjects() {
        return store.keys().stream().filter(key -> key.endsWith(".pack")).count();
    }

    // ---- objects

    /** Puts an unpacked entry into the bucket. */
    public void placeUnpacked(Entry entry) {
        store.place(unpackedKey(entry), encoded(entry));
    }

    public static String unpackedKey(Entry entry) {
        return KEYS.entry(entry.id().hash());
    }

    public static byte[] encoded(Entry entry) {
        return EntryFormat.encode(entry, Compression.NONE);
    }

    /** Returns a pack of these entries, in no bucket yet. */
    public PackBuilder.Pack pack(Entry... entries) {
        return pack(List.of(entries));
    }

    public PackBuilder.Pack pack(List<Entry> entries) {
        PackBuilder builder = new PackBuilder(NAMESPACE, random);
        entries.forEach(entry -> builder.add(
                entry.id().hash(), encoded(entry), entry.compileTime().toNanos()));
        return builder.build();
    }

    /** Puts a pack with these entries into the bucket, and names it. */
    public PackInfo publish(Entry... entries) {
        return publish(pack(entries));
    }

    /**
     * Publishes a pack with one new entry, whose filter has none of these: of so small a filter one
     * lookup in 4,096 is false.
     */
    public PackInfo publishOther(TestEntries maker, Entry... entries) {
        PackBuilder.Pack pack;
        do {
            pack = pack(maker.entry(1));
        } while (mayHave(pack.info(0), entries));
        return publish(pack);
    }

    private static boolean mayHave(PackInfo pack, Entry... entries) {
        return Stream.of(entries).anyMatch(entry -> pack.mayContain(entry.id().hash()));
    }

    public PackInfo publish(PackBuilder.Pack pack) {
        try {
            Register.Stored now = register().readOrCreate();
            PackInfo info = place(pack, now.head().generation());
            assertInstanceOf(PackNamer.Named.Done.class, namer(store).name(info, now));
            return info;
        } catch (RegisterException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Puts a pack into the bucket; no head names it yet. */
    public PackInfo place(PackBuilder.Pack pack, long generation) {
        PackInfo info = pack.info(generation);
        store.place(KEYS.pack(info.name()), pack.body());
        return info;
    }

    /** Removes a pack that the head names from the bucket. */
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
        store.place(KEYS.pack(pack.name()), body);
    }

    public static Sha256 hash(RandomGenerator random) {
        byte[] bytes = new byte[Sha256.BYTES];
        random.nextBytes(bytes);
        return Sha256.ofDigest(bytes);
    }

    /** Returns the row of a pack that does not exist. */
    public static PackInfo info(RandomGenerator random, long generation, int entries) {
        List<Sha256> ids = Stream.generate(() -> hash(random)).limit(entries).toList();
        long indexOffset = PackIndex.HEADER_BYTES + 100L * entries;
        long bytes = indexOffset + (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES;
        return new PackInfo(
                new ObjectName(generation, hash(random)),
                bytes,
                indexOffset,
                entries,
                Optional.of(IdBloomFilter.of(ids)));
    }
}
