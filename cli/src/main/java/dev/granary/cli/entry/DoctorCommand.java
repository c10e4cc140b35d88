package dev.granary.cli.entry;

import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.CheckResult.Notice;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cache.support.CheckResult.Sound;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.HtmlPage;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.local.ClaimResult;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Location;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** {@code granary doctor}: checks all that Granary needs, with cause and cure of problems. */
@Command(description = "Show the devices; check them, the local directory and the buckets.")
public final class DoctorCommand extends OutputCommand {
    private static final long LOW_SPACE_BYTES = 256L << 20;

    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "a bucket or shared directory, as with --bucket")
    private @Nullable String place;

    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--quick",
            description = "send one request to each bucket and write nothing: whether devices,"
                    + " directory and buckets are there, for probes of a running service")
    private boolean isQuick;

    @Option(
            names = "--policy",
            paramLabel = "ROLE",
            description = "only print a policy for the first bucket, to copy:"
                    + " ${COMPLETION-CANDIDATES}; sends nothing")
    private @Nullable BucketPolicy policy;

    @Override
    protected boolean run(Report report) throws Exception {
        GranaryConfigBuilder settings = stores.builder();
        GranaryConfig config = (place == null ? settings : settings.bucket(place)).build();
        if (policy != null) {
            out().print(policy.json(PlaceOptions.firstBucket(config).location()));
            return true;
        }
        DevicesCommand.add(report);
        boolean isHealthy = add(
                report,
                "java",
                new Sound(
                        System.getProperty("java.version") + ", granary " + GranaryConfig.VERSION));
        isHealthy &= add(report, "devices", devices());
        isHealthy &= add(report, "directory", directory(config));
        if (config.buckets().isEmpty()) {
            add(
                    report,
                    "bucket",
                    new Sound("none is configured: kernels are shared on this machine only"
                            + " (--bucket or GRANARY_BUCKET)"));
        }
        for (BucketConfig layer : config.buckets()) {
            isHealthy &= addLayer(config, layer, report);
        }
        report.data("healthy", isHealthy);
        return isHealthy;
    }

    private static boolean add(Report report, String subject, CheckResult result) {
        Report check = report.part("checks").data("subject", subject);
        switch (result) {
            case Sound(String finding) ->
                check.data("state", "sound")
                        .data("finding", finding)
                        .line("ok       " + subject + ": " + finding);
            case Notice(String finding, String advice) ->
                check.data("state", "notice")
                        .data("finding", finding)
                        .data("advice", advice)
                        .line("note     " + subject + ": " + finding)
                        .line("         -> " + advice);
            case Problem(String cause, String cure) ->
                check.data("state", "problem")
                        .data("cause", cause)
                        .data("cure", cure)
                        .line("PROBLEM  " + subject + ": " + cause)
                        .line("         -> " + cure);
        }
        return !(result instanceof Problem);
    }

    /** A missing backend is a problem if it is selected, or if no other has a device. */
    private CheckResult devices() throws ConfigException {
        try {
            return new Sound(Units.plural(device.selection().all().size(), "device"));
        } catch (CommandFailedException e) {
            return new Problem(
                    String.valueOf(e.getMessage()),
                    "install what is named, or select another --backend");
        }
    }

    private CheckResult directory(GranaryConfig config) {
        Path directory = config.directory();
        if (config.capacityBytes() == 0) {
            return new Sound("not used: the capacity is 0, so nothing is stored on disk");
        }
        if (isQuick && Files.notExists(directory)) {
            Path above = EntryFiles.existing(directory.toAbsolutePath());
            return Files.isDirectory(above) && Files.isWritable(above)
                    ? new Sound(directory + " is created by the first program")
                    : new Problem(
                            directory + " cannot be created in " + above,
                            "name another directory with --dir or GRANARY_DIR");
        }
        try (LocalTier tier = TierFactory.localWithoutEviction(config)) {
            if (!Files.isWritable(directory)) {
                return new Problem(
                        directory + " is not writable: entries are read, but none are stored",
                        "give this user write access, or name another directory with --dir or"
                                + " GRANARY_DIR");
            }
            DirectoryUsage usage = tier.usage();
            long space = Files.getFileStore(directory).getUsableSpace();
            if (space < LOW_SPACE_BYTES) {
                return new Problem(
                        directory + " has only " + (space >> 20) + " MiB of disk left",
                        "free some, or name another");
            }
            return new Sound(directory + ", on " + Files.getFileStore(directory).type() + ", "
                    + (usage.diskBytes() >> 20) + " of " + (config.capacityBytes() >> 20)
                    + " MiB used" + (isQuick ? "" : locks(directory))
                    + (usage.hasFormerTree()
                            ? "; its subdirectory v2 is of an earlier version; a sweep removes it"
                                    + " after a day without use"
                            : ""));
        } catch (IOException e) {
            return new Problem(
                    String.valueOf(e.getMessage()),
                    "name another directory with --dir or GRANARY_DIR");
        }
    }

    private static String locks(Path directory) {
        try (LocalClaims claims = LocalClaims.open(directory)) {
            return claims.claim(Tiers.UNKNOWN_ID) instanceof ClaimResult.Unavailable(String reason)
                    ? "; file locks do not work there, so processes compile the same kernel at the"
                            + " same time: " + reason
                    : "";
        }
    }

    /** Adds the checks of a bucket or directory. Returns false if there is a problem. */
    private boolean addLayer(GranaryConfig config, BucketConfig layer, Report report) {
        String name = config.buckets().size() == 1 ? "" : " " + layer;
        if (layer instanceof BucketConfig.Directory shared) {
            return add(report, "bucket" + name, TierFactory.shared(shared).check(isQuick))
                    && (isQuick
                            || add(report, "claims" + name, claims(config, layer, () -> false)));
        }
        try (BucketTier tier = TierFactory.bucket(layer, Optional.empty())) {
            if (isQuick) {
                CheckResult answer = tier.reach()
                        .<CheckResult>map(problem -> problem)
                        .orElseGet(() -> new Sound(layer.name() + " answers"));
                return add(report, "bucket" + name, answer);
            }
            boolean isHealthy = true;
            for (CheckResult result : tier.check()) {
                isHealthy &= add(report, "bucket" + name, result);
            }
            return isHealthy
                    && add(report, "claims" + name, claims(config, layer, () -> tier.packObstacle()
                            .isPresent()));
        } catch (ConfigException e) {
            return add(
                    report,
                    "bucket" + name,
                    new Problem(
                            String.valueOf(e.getMessage()),
                            "correct --bucket or --endpoint, or GRANARY_BUCKET or"
                                    + " GRANARY_S3_ENDPOINT"));
        }
    }

    /**
     * Tells whether lookups claim compiles in a layer, and wait for those of other machines.
     *
     * @param lacksConditions whether conditional writes of a bucket are not known to work
     */
    private static CheckResult claims(
            GranaryConfig config, BucketConfig layer, BooleanSupplier lacksConditions) {
        Optional<BucketConfig> target = StoreOptions.writable(config);
        String not = "compiles are not claimed there: ";
        if (config.claimWait().isZero()) {
            return new Sound(not + "claim-wait is 0");
        }
        if (!target.equals(Optional.of(layer))) {
            return new Sound(not
                    + target.map(first -> "compiled entries go to " + first.name())
                            .orElse("no bucket is writable"));
        }
        return lacksConditions.getAsBoolean()
                ? new Notice(
                        not + "conditional writes are not known to work",
                        "machines that lack the same kernel at the same time all compile it")
                : new Sound("compiles are claimed: of machines that lack the same kernel, one"
                        + " compiles it, and the others wait");
    }

    /** A role whose requests a policy allows or denies; docs/bucket.md explains them. */
    enum BucketPolicy {
        READER,
        PUBLISHER,
        PUBLIC,
        WRITE_ONCE;

        /** Returns the policy for a bucket and prefix, in Amazon's form. */
        String json(S3Location location) throws IOException {
            String arn = "arn:aws:s3:::" + location.bucket();
            String root = location.prefix().isEmpty() ? arn : arn + "/" + location.prefix();
            return HtmlPage.text(getClass().getResourceAsStream("policy-" + this + ".json"))
                    .replace("\"ROOT", "\"" + root)
                    .replace("\"BUCKET\"", "\"" + arn + "\"");
        }

        /** Returns the name as an option has it. */
        @Override
        public String toString() {
            return Units.word(this);
        }
    }
}
