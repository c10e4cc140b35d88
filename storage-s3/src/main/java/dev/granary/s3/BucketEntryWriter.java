package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.resilience.ExpiringSet;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.resilience.WriteSuspension;

import java.time.Duration;
import java.util.Optional;

/**
 * Writer of unpacked entries to a bucket. An entry of a pack is not written again, unless a lookup
 * found it damaged. If the target is sealed, a write ends that, so that lookups find the entry.
 * Thread-safe.
 */
final class BucketEntryWriter {
    private static final int SUSPECT_CAPACITY = 10_000;
    private static final Duration SUSPECT_MEMORY = Duration.ofHours(1);

    private final S3Config config;
    private final BucketLayout layout;
    private final ResilientObjectStore store;
    private final Lazy<PackReader> packs;
    private final EntryPublisher publisher;
    private final WriteSuspension writeSuspension;
    private final ExpiringSet<Sha256> absent;
    private final ExpiringSet<Sha256> suspects;

    /**
     * Creates a writer.
     *
     * @param absent the ids that lookups do not request, from which written ones are removed
     */
    BucketEntryWriter(
            S3Config config,
            BucketLayout layout,
            ResilientObjectStore store,
            Lazy<PackReader> packs,
            EntryPublisher publisher,
            WriteSuspension writeSuspension,
            ExpiringSet<Sha256> absent,
            Ticker ticker) {
        this.config = config;
        this.layout = layout;
        this.store = store;
        this.packs = packs;
        this.publisher = publisher;
        this.writeSuspension = writeSuspension;
        this.absent = absent;
        this.suspects = new ExpiringSet<>(SUSPECT_CAPACITY, SUSPECT_MEMORY, ticker);
    }

    /** Stores an entry, unless writes are refused or the bucket has it in a pack. */
    StoreResult store(Entry entry) {
        Optional<StoreResult> refusal = refusal();
        if (refusal.isPresent()) {
            return refusal.get();
        }
        Sha256 hash = entry.id().hash();
        if (!suspects.contains(hash) && isPacked(entry.id())) {
            return StoreResult.DUPLICATE;
        }
        return publish(
                entry,
                suspects.contains(hash)
                        ? EntryPublisher.Existing.SUSPECT
                        : EntryPublisher.Existing.TRUSTED);
    }

    /** Returns true if every process finds the id in a pack. Opens no packs for that. */
    private boolean isPacked(Id id) {
        PackReader reader = packs.peek();
        return reader != null
                && reader.isKnown(id)
                && reader.confirm(id, reader.mark(id), store.withinDeadline())
                && reader.holds(id, store);
    }

    /** Makes the next store of this id check the entry in the bucket, which is damaged. */
    void suspect(Sha256 hash) {
        suspects.add(hash, suspects.mark());
    }

    /** Returns the result of a write that is not sent, if nothing may be written now. */
    private Optional<StoreResult> refusal() {
        return config.access() == S3Access.READ
                ? Optional.of(new StoreResult.Refused(
                        StoreResult.Scope.STORE, config.location() + " is configured as read-only"))
                : writeSuspension
                        .reason()
                        .map(failure -> new StoreResult.Refused(
                                StoreResult.Scope.STORE,
                                "read-only for a while, since the bucket refused a write: "
                                        + failure));
    }

    private StoreResult publish(Entry entry, EntryPublisher.Existing existing) {
        Sha256 hash = entry.id().hash();
        StoreResult result = publisher.publish(entry, layout.entry(entry.id()), existing);
        absent.remove(hash);
        if (result instanceof StoreResult.Stored
                || result instanceof StoreResult.Duplicate
                || result instanceof StoreResult.Divergent) {
            suspects.remove(hash);
            return makeVisible(entry.id(), result);
        }
        return result;
    }

    /**
     * Changes the manifest if it states that its target has no unpacked entries, since lookups rely
     * on it.
     */
    private StoreResult makeVisible(Id id, StoreResult result) {
        return config.manifestInterval().isZero()
                ? result
                : packs.get().unseal(id).orElse(result);
    }
}
