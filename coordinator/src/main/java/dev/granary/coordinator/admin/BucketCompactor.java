package dev.granary.coordinator.admin;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.probe.ConditionalWriteSupport;

import java.time.Duration;
import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * Compaction of one target of a bucket, planned again if other writers interfere. Not thread-safe.
 */
public final class BucketCompactor {
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
    public BucketCompactor(
            GranaryConfig config, BucketConfig bucket, String namespace, Duration grace) {
        this.config = config;
        this.bucket = bucket;
        this.namespace = namespace;
        this.grace = grace;
    }

    /** Outcome of a compaction. */
    public sealed interface Outcome {
        /**
         * The compaction was only planned.
         *
         * @param plan the plan
         */
        record Planned(CompactionPlan plan) implements Outcome {}

        /**
         * The compaction was done.
         *
         * @param result its result
         */
        record Done(PackCompactor.Result.Done result) implements Outcome {}

        /**
         * The compaction was not done; nothing is lost.
         *
         * @param cause the cause, for people
         */
        record Failed(String cause) implements Outcome {}
    }

    /** Returns the monitor of the bucket that this compaction may wait for. */
    public SilenceMonitor waits() {
        return waits;
    }

    /**
     * Plans a compaction without doing it.
     *
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public Outcome plan() throws ConfigException {
        try (BulkBucket bulk =
                BucketTierFactory.openBulk(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), bulk.traffic()::quiet);
            return switch (bulk.compactor(namespace).plan(grace)) {
                case PackCompactor.Planned.Ready ready -> new Outcome.Planned(ready.plan());
                case PackCompactor.Planned.Unavailable lost -> new Outcome.Failed(lost.cause());
            };
        }
    }

    /**
     * Plans and runs a compaction.
     *
     * @param unpacked the statement of the new manifest on unpacked entries
     * @param progress receives the number of bytes read so far
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public Outcome run(PackManifest.UnpackedEntries unpacked, LongConsumer progress)
            throws ConfigException {
        try (BucketTier tier =
                BucketTierFactory.open(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), tier.traffic()::quiet);
            Optional<ConditionalWriteSupport> writes = tier.conditionalWrites();
            if (writes.isEmpty()) {
                return new Outcome.Failed("it is unknown whether the server supports conditional"
                        + " writes, which packs need: "
                        + tier.conditionalWritesUnknownBecause());
            }
            if (writes.get() != ConditionalWriteSupport.FULL) {
                return new Outcome.Failed(
                        "the server does not support conditional writes, which packs need; entries"
                                + " stay unpacked there");
            }
        }
        try (BulkBucket bulk =
                BucketTierFactory.openBulk(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), bulk.traffic()::quiet);
            for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
                switch (bulk.compactor(namespace).plan(grace)) {
                    case PackCompactor.Planned.Unavailable lost -> {
                        return new Outcome.Failed(lost.cause());
                    }
                    case PackCompactor.Planned.Ready ready -> {
                        switch (bulk.compactor(namespace).run(ready.plan(), unpacked, progress)) {
                            case PackCompactor.Result.Done done -> {
                                return new Outcome.Done(done);
                            }
                            case PackCompactor.Result.Failed failed -> {
                                return new Outcome.Failed(failed.cause());
                            }
                            case PackCompactor.Result.Overtaken _ -> {} // plan again
                        }
                    }
                }
            }
            return new Outcome.Failed(
                    "other writers were faster " + MAX_ATTEMPTS + " times; try again");
        }
    }
}
