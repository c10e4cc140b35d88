package dev.granary.cli.operation;

import dev.granary.cli.output.SilenceMonitor;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * Compaction of one target of a bucket, planned again if other writers interfere. Not thread-safe.
 */
final class BucketCompactor {
    private static final int MAX_ATTEMPTS = 5;

    private final GranaryConfig config;
    private final BucketConfig bucket;
    private final String namespace;
    private final Duration grace;
    private final SilenceMonitor waits = new SilenceMonitor();

    /**
     * Creates a compactor.
     *
     * @param namespace the target
     * @param grace how long replaced packs stay in the bucket
     */
    BucketCompactor(GranaryConfig config, BucketConfig bucket, String namespace, Duration grace) {
        this.config = config;
        this.bucket = bucket;
        this.namespace = namespace;
        this.grace = grace;
    }

    /** Outcome of a compaction: planned only, done, or not done, and then nothing is lost. */
    sealed interface Outcome {
        record Planned(CompactionPlan plan, PackRemover.Removal removal) implements Outcome {}

        record Done(CompactionReport report, long adopted, PackRemover.Removal removal)
                implements Outcome {}

        record Failed(String cause) implements Outcome {}
    }

    /** Returns the monitor of the bucket that this compaction may wait for. */
    SilenceMonitor waits() {
        return waits;
    }

    /**
     * Plans a compaction without doing it.
     *
     * @param without the ids to be left out, or their first digits
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    Outcome plan(Set<String> without) throws ConfigException {
        try (BulkBucket bulk = TierFactory.bulk(bucket, TierFactory.directory(config))) {
            waits.watch(bucket.name(), bulk.traffic()::quiet);
            return new Outcome.Planned(
                    bulk.compactor(namespace).plan(without),
                    bulk.remover(namespace).plan(grace));
        } catch (CompactionException e) {
            return new Outcome.Failed(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Plans and runs a compaction.
     *
     * @param without the ids to be left out, or their first digits
     * @param isAdopting true if packs that no head names are adopted before
     * @param progress receives the number of bytes read so far
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    Outcome run(Set<String> without, boolean isAdopting, LongConsumer progress)
            throws ConfigException {
        try (BucketTier tier = TierFactory.bucket(bucket, TierFactory.directory(config));
                BulkBucket bulk = TierFactory.bulk(bucket, TierFactory.directory(config))) {
            waits.watch(bucket.name(), tier.traffic()::quiet);
            Optional<String> obstacle = tier.packObstacle();
            if (obstacle.isPresent()) {
                return new Outcome.Failed(obstacle.get());
            }
            waits.watch(bucket.name(), bulk.traffic()::quiet);
            long adopted = isAdopting ? bulk.adopter(namespace, tier::disprove).run() : 0;
            PackCompactor compactor = bulk.compactor(namespace);
            for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
                Optional<CompactionReport> report = compactor.run(
                        compactor.plan(without), grace, tier.honoursConditionalDelete(), progress);
                if (report.isPresent()) {
                    return new Outcome.Done(
                            report.get(), adopted, bulk.remover(namespace).run(grace));
                }
            }
            return new Outcome.Failed(
                    "other writers were faster " + MAX_ATTEMPTS + " times; try again");
        } catch (CompactionException e) {
            return new Outcome.Failed(String.valueOf(e.getMessage()));
        }
    }
}
