package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.GetResult;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Looks up entries of a {@link PackFixture} as the bucket tier does: in the packs, then unpacked.
 * Retains the manifest that it read first. Thread-safe.
 */
public final class PackLookupDriver implements AutoCloseable {
    private final MemoryObjectStore store;
    private final PackReader packs;

    /** Creates a machine that has read nothing yet. */
    public PackLookupDriver(PackFixture bucket) {
        this.store = bucket.store;
        this.packs = new PackReader(
                store,
                bucket.settings(Optional.empty()),
                Duration.ofDays(1),
                Duration.ofSeconds(5),
                () -> 0);
    }

    public LoadResult load(Entry entry) {
        return packs.load(entry.id(), store).orUnpacked(() -> loadUnpacked(entry));
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
