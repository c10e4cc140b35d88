package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.session.ComputerIdentity;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.s3.BucketQuarantine;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.quarantine.QuarantineReporter;

import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Uploader that replaces unusable contents of entries in the bucket. A content is unusable if it is
 * in quarantine, or if the driver compiled it again in restores. After this machine has compiled
 * the entry anew, the old content is reported to the bucket, and replaced once the report is
 * confirmed. Other entries go to the next uploader. Thread-safe.
 */
final class QuarantineUploader implements EntryUploader {
    private final EntryUploader next;
    private final CountingCache tier;
    private final RestoreQuarantine quarantine;
    private final BucketQuarantine shared;
    private volatile Optional<BulkBucket> packed = Optional.empty();

    /**
     * Creates an uploader to {@code bucket}.
     *
     * @param tier the same bucket with its counters
     * @param opened receives the connections for packs, if they are opened
     */
    QuarantineUploader(
            EntryUploader next,
            BucketTier bucket,
            CountingCache tier,
            RestoreQuarantine quarantine,
            Consumer<BulkBucket> opened) {
        this.next = next;
        this.tier = tier;
        this.quarantine = quarantine;
        Supplier<BulkBucket> open = () -> {
            BulkBucket bulk = bucket.packed();
            packed = Optional.of(bulk);
            opened.accept(bulk);
            return bulk;
        };
        this.shared = bucket.quarantine(open);
    }

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        Set<Sha256> contents = quarantine.contentsToReplace(entry.id());
        // A compiler that makes the same bytes again has made sound ones: nothing to report.
        if (contents.isEmpty() || contents.contains(entry.contentHash())) {
            next.send(entry, whenDone);
            return;
        }
        CountingCache.PendingStore pending = tier.beginStore(entry);
        whenDone.accept(pending.count(replace(entry, contents)));
    }

    private StoreResult replace(Entry fresh, Set<Sha256> contents) {
        ComputerIdentity computer;
        try {
            computer = quarantine.computer();
        } catch (IOException e) {
            return new StoreResult.Failed("the number of this directory cannot be read: " + e);
        }
        QuarantineReporter reporter = new QuarantineReporter(
                computer.directory(), computer.host(), QuarantineReporter.Authority.MACHINE);
        StoreResult result = StoreResult.DIVERGENT;
        for (Sha256 content : contents) {
            result = shared.replace(fresh, content, reporter);
            if (result instanceof StoreResult.Stored) {
                LogOnce.warn(
                        "replaced",
                        "An entry that two machines reported was replaced in " + tier.name() + ": "
                                + fresh.id().hash().hex());
            }
            if (!(result instanceof StoreResult.Divergent)) {
                return result;
            }
        }
        return result;
    }

    @Override
    public void finish() {
        next.finish();
    }

    @Override
    public Optional<LayerStatistics.Requests> requests() {
        Optional<LayerStatistics.Requests> own = packed.map(LayerStatistics.Requests::of);
        Optional<LayerStatistics.Requests> others = next.requests();
        return own.isPresent() && others.isPresent()
                ? Optional.of(own.get().plus(others.get()))
                : own.or(() -> others);
    }

    @Override
    public void close() {
        next.close();
        shared.close();
    }
}
