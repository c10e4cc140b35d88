package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Lazy;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.compact.PackedEntryReplacer;
import dev.granary.s3.quarantine.QuarantineReport;
import dev.granary.s3.quarantine.QuarantineReporter;
import dev.granary.s3.quarantine.QuarantineReports;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;

/**
 * The quarantine that a fleet shares in a bucket: entries whose restore ended processes are
 * reported there, and replaced by fresh binaries. Thread-safe.
 *
 * <p>An entry is never removed, only replaced by another one of the same id. This takes reports of
 * two computers, or of an operator: a single computer with a broken driver changes nothing. A
 * lookup reads no report, and sends no further request for this. It finds the fresh entry in the
 * place of the replaced one, once it has the manifest of the replacement.
 */
public final class BucketQuarantine implements AutoCloseable {
    private final BucketTier tier;
    private final BucketEntryWriter writer;
    private final BucketLayout layout;
    private final ObjectStore store;
    private final QuarantineReports reports;
    private final Lazy<BulkBucket> packed;

    BucketQuarantine(
            BucketTier tier,
            BucketEntryWriter writer,
            BucketLayout layout,
            ObjectStore store,
            QuarantineReports reports,
            Supplier<BulkBucket> packed) {
        this.tier = tier;
        this.writer = writer;
        this.layout = layout;
        this.store = store;
        this.reports = reports;
        this.packed = new Lazy<>(packed);
    }

    /**
     * Reports that the restore of {@code content} ended a process, and replaces it by {@code fresh}
     * if the report is confirmed.
     *
     * @param fresh an entry of the same id with other content
     * @param content the hash of the content that ended a process
     * @param reporter the origin of the report
     * @return stored: lookups find {@code fresh}. If nothing was replaced, since the report waits
     *     for a confirmation or the bucket has other content: the result of
     *     {@link BucketTier#store}
     */
    public StoreResult replace(Entry fresh, Sha256 content, QuarantineReporter reporter) {
        if (fresh.contentHash().equals(content)) {
            throw new IllegalArgumentException("An entry does not replace itself: " + fresh);
        }
        return writer.refusal().orElseGet(() -> switch (tier.load(fresh.id())) {
            case LoadResult.Hit(Entry stored)
            when stored.contentHash().equals(content) -> reportAndReplace(fresh, content, reporter);
            // a hit is no acknowledgement: only a store ensures that all readers find the entry
            case LoadResult.Hit _, LoadResult.Absent _, LoadResult.Damaged _ -> writer.store(fresh);
            case LoadResult.Unavailable lost -> new StoreResult.Failed(lost.cause());
        });
    }

    private StoreResult reportAndReplace(Entry fresh, Sha256 content, QuarantineReporter reporter) {
        return switch (reports.report(
                fresh.id().target().path(), fresh.id().hash(), content, reporter)) {
            case QuarantineReports.Reported.Done(QuarantineReport report) ->
                report.isConfirmed() ? replace(fresh, content) : writer.store(fresh);
            case QuarantineReports.Reported.Refused(StoreFailure failure) -> {
                writer.suspendWrites(failure);
                yield new StoreResult.Refused(failure.toString());
            }
            case QuarantineReports.Reported.Failed(String cause) ->
                new StoreResult.Failed("the quarantine could not be reported: " + cause);
        };
    }

    private StoreResult replace(Entry fresh, Sha256 content) {
        return switch (packed.get().replacer(fresh.id().target().path()).replace(fresh, content)) {
            case PackedEntryReplacer.Result.NotPacked _ -> writer.replaceUnpacked(fresh, content);
            case PackedEntryReplacer.Result.Replaced(long bytes) -> {
                replaceCopy(fresh, content);
                yield new StoreResult.Stored(bytes);
            }
            case PackedEntryReplacer.Result.OtherContent _ -> writer.store(fresh);
            case PackedEntryReplacer.Result.Refused(String reason) ->
                new StoreResult.Refused(reason);
            case PackedEntryReplacer.Result.Failed(String cause) -> new StoreResult.Failed(cause);
        };
    }

    /**
     * Replaces the unpacked copy of a packed entry. Readers reach it only if the packs are lost, so
     * a failure is not reported.
     */
    private void replaceCopy(Entry fresh, Sha256 content) {
        if (store.head(layout.entry(fresh.id())) instanceof HeadResult.Found) {
            StoreResult ignored = writer.replaceUnpacked(fresh, content);
        }
    }

    /**
     * Returns the reports of all targets.
     *
     * @throws IOException if the bucket cannot be listed or read
     */
    public List<QuarantineReports.Listed> list() throws IOException {
        return reports.list();
    }

    /**
     * Withdraws a report, so that it confirms no other. An entry that was replaced stays so.
     *
     * @throws IOException if the bucket refuses it or does not answer
     */
    public void withdraw(QuarantineReports.Listed listed) throws IOException {
        switch (reports.withdraw(
                listed.namespace(), listed.report().id(), listed.report().content())) {
            case QuarantineReports.Reported.Done _ -> {}
            case QuarantineReports.Reported.Refused(StoreFailure failure) ->
                throw new IOException("the report cannot be withdrawn: " + failure);
            case QuarantineReports.Reported.Failed(String cause) ->
                throw new IOException("the report cannot be withdrawn: " + cause);
        }
    }

    /** Closes the connections for packs, if they were opened. */
    @Override
    public void close() {
        BulkBucket opened = packed.peek();
        if (opened != null) {
            opened.close();
        }
    }
}
