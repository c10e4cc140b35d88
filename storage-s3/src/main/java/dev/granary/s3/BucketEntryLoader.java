package dev.granary.s3;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.Lazy;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.lang.foreign.MemorySegment;
import java.util.function.Function;

/** Loader of entries from a bucket: from its packs, then as unpacked entries. Thread-safe. */
final class BucketEntryLoader {
    private final BucketLayout layout;
    private final TrustPolicy trust;
    private final boolean hasPacks;
    private final Lazy<PackReader> packs;

    /**
     * Creates a loader.
     *
     * @param trust which signatures of entries count
     * @param hasPacks false if only unpacked entries are read
     */
    BucketEntryLoader(
            BucketLayout layout, TrustPolicy trust, boolean hasPacks, Lazy<PackReader> packs) {
        this.layout = layout;
        this.trust = trust;
        this.hasPacks = hasPacks;
        this.packs = packs;
    }

    /**
     * Loads an entry.
     *
     * @param withinDeadline sends the requests; its deadline bounds the call
     */
    LoadResult load(Id id, ObjectStore withinDeadline) {
        return load(
                id.target().path(),
                id.hash(),
                stored -> EntryFormat.decode(stored, id, VerificationLevel.CONTENT_HASH),
                withinDeadline);
    }

    /** Reads a listed entry; {@code reading} sends the requests. */
    LoadResult read(EntryCatalog.Listed listed, ObjectStore reading) {
        return load(
                listed.namespace(),
                listed.hash(),
                stored -> layout.target(listed.namespace())
                        .checkId(
                                EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH),
                                listed.hash()),
                reading);
    }

    private LoadResult load(
            String namespace,
            Sha256 hash,
            Function<MemorySegment, LoadResult> verifier,
            ObjectStore store) {
        // in a pack as well: the unpacked entry may be a better one
        Function<MemorySegment, LoadResult> decoder = verifier.andThen(trust::check);
        return hasPacks
                ? packs.get()
                        .load(
                                namespace,
                                hash,
                                decoder,
                                store,
                                () -> loadUnpacked(namespace, hash, decoder, store))
                : loadUnpacked(namespace, hash, decoder, store);
    }

    private LoadResult loadUnpacked(
            String namespace,
            Sha256 hash,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        return switch (store.get(layout.entry(namespace, hash), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found -> decoder.apply(found.bytes());
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge large ->
                new LoadResult.Damaged(
                        DamageKind.TOO_LARGE, "more than " + large.limit() + " bytes");
            case GetResult.Unavailable lost ->
                new LoadResult.Unavailable(lost.failure().toString());
        };
    }
}
