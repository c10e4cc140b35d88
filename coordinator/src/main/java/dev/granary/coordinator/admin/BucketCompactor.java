package dev.granary.coordinator.admin;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.probe.ConditionalWriteSupport;
import java.time.Duration;
import java.util.function.LongConsumer;

/** Compacts one target of a bucket, and plans again where other writers were faster. Not thread-safe. */
public final class BucketCompactor {
    private static final int MAX_ATTEMPTS = 5;

    private final GranaryConfig config;
    private final BucketConfig bucket;
    private final String namespace;
    private final Duration grace;
    private final SilenceMonitor waits = new SilenceMonitor();

    /** For that target of that bucket; {@code grace} is how long what is replaced stays. */
    public BucketCompactor(GranaryConfig config, BucketConfig bucket, String namespace, Duration grace) {
        this.config = config;
        this.bucket = bucket;
        this.namespace = namespace;
        this.grace = grace;
    }

    /** What became of it. */
    public sealed interface Outcome {
        /**
         * It was only planned.
         *
         * @param plan what would be done
         */
        record Planned(CompactionPlan plan) implements Outcome {}

        /**
         * It was done.
         *
         * @param result what was done
         */
        record Done(PackCompactor.Result.Done result) implements Outcome {}

        /**
         * It was not done; nothing is lost.
         *
         * @param cause why, for people
         */
        record Failed(String cause) implements Outcome {}
    }

    /** The buckets that this may be waiting for. */
    public SilenceMonitor waits() {
        return waits;
    }

    /**
     * Finds out what there is to do.
     *
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public Outcome plan() throws ConfigException {
        try (BulkBucket packed = BucketTierFactory.packed(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), packed.traffic()::quiet);
            return switch (packed.compactor(namespace).plan(grace)) {
                case PackCompactor.Planned.Ready ready -> new Outcome.Planned(ready.plan());
                case PackCompactor.Planned.Unavailable lost -> new Outcome.Failed(lost.cause());
            };
        }
    }

    /**
     * Compacts.
     *
     * @param loose what the manifest says of entries outside of packs afterwards
     * @param progress told how many bytes were read so far
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public Outcome run(PackManifest.UnpackedEntries loose, LongConsumer progress) throws ConfigException {
        try (BucketTier tier = BucketTierFactory.open(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), tier.traffic()::quiet);
            if (tier.conditionalWrites() == ConditionalWriteSupport.NONE) {
                return new Outcome.Failed("the server keeps no conditions on writes, which packs need; entries stay alone there");
            }
        }
        try (BulkBucket packed = BucketTierFactory.packed(bucket, BucketTierFactory.directory(config))) {
            waits.watch(bucket.name(), packed.traffic()::quiet);
            for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
                switch (packed.compactor(namespace).plan(grace)) {
                    case PackCompactor.Planned.Unavailable lost -> {
                        return new Outcome.Failed(lost.cause());
                    }
                    case PackCompactor.Planned.Ready ready -> {
                        switch (packed.compactor(namespace).run(ready.plan(), loose, progress)) {
                            case PackCompactor.Result.Done done -> {
                                return new Outcome.Done(done);
                            }
                            case PackCompactor.Result.Failed failed -> {
                                return new Outcome.Failed(failed.cause());
                            }
                            case PackCompactor.Result.Overtaken _ -> {} // plans again
                        }
                    }
                }
            }
            return new Outcome.Failed("other writers were faster " + MAX_ATTEMPTS + " times; try again");
        }
    }
}
