package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.resilience.ExpiringSet;
import dev.granary.s3.resilience.WriteSuspension;

import java.time.Duration;
import java.util.Optional;

/** Writer of unpacked entries to a bucket. Thread-safe. */
final class BucketEntryWriter {
    private static final int SUSPECT_CAPACITY = 10_000;
    private static final Duration SUSPECT_MEMORY = Duration.ofHours(1);

    private final S3Config config;
    private final BucketLayout layout;
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
            EntryPublisher publisher,
            WriteSuspension writeSuspension,
            ExpiringSet<Sha256> absent,
            Ticker ticker) {
        this.config = config;
        this.layout = layout;
        this.publisher = publisher;
        this.writeSuspension = writeSuspension;
        this.absent = absent;
        this.suspects = new ExpiringSet<>(SUSPECT_CAPACITY, SUSPECT_MEMORY, ticker);
    }

    /** Stores an entry, unless writes are refused. */
    StoreResult store(Entry entry) {
        return refusal().orElseGet(() -> publish(entry));
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

    private StoreResult publish(Entry entry) {
        Sha256 hash = entry.id().hash();
        StoreResult result = publisher.publish(
                entry,
                layout.entry(entry.id()),
                suspects.contains(hash)
                        ? EntryPublisher.Existing.SUSPECT
                        : EntryPublisher.Existing.TRUSTED);
        absent.remove(hash);
        if (result instanceof StoreResult.Stored
                || result instanceof StoreResult.Duplicate
                || result instanceof StoreResult.Divergent) {
            suspects.remove(hash);
        }
        return result;
    }
}
