package dev.granary.s3;

import dev.granary.cache.DamageKind;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.support.Lazy;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackAnswer;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Loader of entries from a bucket: from its packs, then as unpacked entries unless the packs show
 * that there is none. Thread-safe.
 */
final class BucketEntryLoader {
    private final BucketLayout layout;
    private final boolean hasPacks;
    private final Lazy<PackReader> packs;

    /**
     * Creates a loader.
     *
     * @param hasPacks false if only unpacked entries are read
     */
    BucketEntryLoader(BucketLayout layout, boolean hasPacks, Lazy<PackReader> packs) {
        this.layout = layout;
        this.hasPacks = hasPacks;
        this.packs = packs;
    }

    /**
     * Loads an entry.
     *
     * @param withinDeadline sends the requests; its deadline bounds the call
     */
    LoadResult load(Id id, ObjectStore withinDeadline) {
        return loadPacked(id, withinDeadline).orUnpacked(() -> loadUnpacked(id, withinDeadline));
    }

    /** Loads an entry as {@link #load} does, and reports the objects that decided. */
    BucketAnswer loadWithOrigin(Id id, ObjectStore withinDeadline) {
        AtomicBoolean isUnpackedRead = new AtomicBoolean();
        LoadResult result = loadPacked(id, withinDeadline).orUnpacked(() -> {
            isUnpackedRead.set(true);
            return loadUnpacked(id, withinDeadline);
        });
        return new BucketAnswer(
                result,
                isUnpackedRead.get() ? BucketAnswer.Origin.UNPACKED : BucketAnswer.Origin.PACKS);
    }

    /** Reads a listed entry; {@code reading} sends the requests. */
    LoadResult read(EntryCatalog.Listed listed, ObjectStore reading) {
        PackAnswer answer = packs.get().load(listed.namespace(), listed.hash(), reading);
        // it was listed: an unpacked entry may exist in spite of the manifest
        return answer.equals(PackAnswer.ABSENT)
                ? readUnpacked(listed, reading)
                : answer.orUnpacked(() -> readUnpacked(listed, reading));
    }

    private PackAnswer loadPacked(Id id, ObjectStore withinDeadline) {
        return !hasPacks ? PackAnswer.NOT_PACKED : packs.get().load(id, withinDeadline);
    }

    private LoadResult loadUnpacked(Id id, ObjectStore withinDeadline) {
        return switch (withinDeadline.get(layout.entry(id), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found ->
                EntryFormat.decode(found.bytes(), id, VerificationLevel.CONTENT_HASH);
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge large -> tooLarge(large);
            case GetResult.Unavailable lost ->
                new LoadResult.Unavailable(lost.failure().toString());
        };
    }

    private LoadResult readUnpacked(EntryCatalog.Listed listed, ObjectStore reading) {
        return switch (reading.get(
                layout.entry(listed.namespace(), listed.hash()), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found ->
                new TargetLayout(layout.root(), listed.namespace())
                        .checkId(
                                EntryFormat.decode(found.bytes(), VerificationLevel.CONTENT_HASH),
                                listed.hash());
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge large -> tooLarge(large);
            case GetResult.Unavailable lost ->
                new LoadResult.Unavailable(lost.failure().toString());
        };
    }

    private static LoadResult tooLarge(GetResult.TooLarge large) {
        return new LoadResult.Damaged(
                DamageKind.TOO_LARGE, "more than " + large.limit() + " bytes");
    }
}
