package dev.granary.coordinator.admin;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.session.ComputerIdentity;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.s3.BucketQuarantine;
import dev.granary.s3.BucketTier;
import dev.granary.s3.quarantine.QuarantineReporter;
import dev.granary.s3.quarantine.QuarantineReports;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The quarantine that a fleet shares in one bucket, for the tool {@code quarantine}. */
public final class SharedQuarantine implements AutoCloseable {
    private final String name;
    private final BucketTier tier;
    private final BucketQuarantine shared;

    private SharedQuarantine(String name, BucketTier tier, BucketQuarantine shared) {
        this.name = name;
        this.tier = tier;
        this.shared = shared;
    }

    /**
     * Opens the quarantine of {@code bucket}. No request is sent.
     *
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public static SharedQuarantine open(BucketConfig bucket) throws ConfigException {
        BucketTier tier = BucketTierFactory.openForBackground(bucket);
        return new SharedQuarantine(bucket.name(), tier, tier.quarantine(tier::packed));
    }

    /**
     * Opens the quarantine of the first writable bucket. No request is sent.
     *
     * @throws ConfigException if there is none, or it cannot be opened as configured
     */
    public static SharedQuarantine open(GranaryConfig config) throws ConfigException {
        Optional<BucketConfig> writable =
                config.buckets().stream().filter(BucketConfig::isWritable).findFirst();
        return open(writable.orElseThrow(() -> new ConfigException(
                "No writable bucket is configured; give --bucket or set GRANARY_BUCKET.")));
    }

    /** Returns the name of the bucket. */
    public String name() {
        return name;
    }

    /**
     * Returns the reports of all targets.
     *
     * @throws IOException if the bucket cannot be listed or read
     */
    public List<QuarantineReports.Listed> reports() throws IOException {
        return shared.list();
    }

    /**
     * Withdraws a report, so that it confirms no other.
     *
     * @throws IOException if the bucket refuses it or does not answer
     */
    public void withdraw(QuarantineReports.Listed report) throws IOException {
        shared.withdraw(report);
    }

    /**
     * Replaces a content by a fresh entry of the same id, as a decision of an operator that needs
     * no confirmation.
     *
     * @param inventory the quarantine of the operator's machine
     * @return as {@link BucketQuarantine#replace}
     * @throws IOException if the number of the directory cannot be read
     */
    public StoreResult publish(Entry fresh, Sha256 content, QuarantineInventory inventory)
            throws IOException {
        ComputerIdentity computer = inventory.computer();
        return shared.replace(
                fresh,
                content,
                new QuarantineReporter(
                        computer.directory(),
                        computer.host(),
                        QuarantineReporter.Authority.OPERATOR));
    }

    @Override
    public void close() {
        shared.close();
        tier.close();
    }
}
