package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Looks up entries of a {@link PackFixture} as the bucket tier does: in the packs, then unpacked.
 * Thread-safe.
 */
public final class PackLookupDriver implements AutoCloseable {
    private final ObjectStore store;
    private final PackReader packs;

    /** Creates a machine that has read nothing yet. */
    public PackLookupDriver(PackFixture bucket) {
        this(bucket, bucket.store, Optional.empty());
    }

    /** Creates a machine that sends its requests to {@code store}. */
    public PackLookupDriver(PackFixture bucket, ObjectStore store, Optional<Path> indexDirectory) {
        this(
                store,
                new PackReader(
                        store,
                        bucket.settings(indexDirectory),
                        Duration.ofMinutes(1),
                        Duration.ofSeconds(5)));
    }

    /** Creates a machine with its own clock and threads. */
    PackLookupDriver(ObjectStore store, PackReader packs) {
        this.store = store;
        this.packs = packs;
    }

    public LoadResult load(Entry entry) {
        return packs.load(
                PackFixture.NAMESPACE,
                entry.id().hash(),
                stored -> EntryFormat.decode(stored, entry.id(), VerificationLevel.CONTENT_HASH),
                store,
                () -> loadUnpacked(entry));
    }

    private LoadResult loadUnpacked(Entry entry) {
        return switch (store.get(PackFixture.unpackedKey(entry), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found ->
                EntryFormat.decode(found.bytes(), entry.id(), VerificationLevel.CONTENT_HASH);
            case GetResult.Absent _, GetResult.TooLarge _ -> LoadResult.ABSENT;
            case GetResult.Unavailable unavailable ->
                new LoadResult.Unavailable(unavailable.failure().toString());
        };
    }

    /** Returns the entries that are not found with their own bytes. */
    public List<Entry> lost(List<Entry> all) {
        return all.stream()
                .filter(entry -> !(load(entry) instanceof LoadResult.Hit hit
                        && hit.entry().binaries().equals(entry.binaries())))
                .toList();
    }

    @Override
    public void close() {
        packs.close();
    }
}
