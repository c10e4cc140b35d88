package dev.granary.cli.operation;

import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.CheckResult.Notice;
import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.cache.support.CheckResult.Sound;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.local.ClaimResult;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.s3.BucketTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code granary doctor}: checks all that Granary needs, with cause and cure of problems. */
@Command(
        name = "doctor",
        description = "Show the devices; check them, the local directory and the buckets.")
public final class DoctorCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    private static final long LOW_SPACE_BYTES = 256L << 20;

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--quick",
            description = "send one request to each bucket and write nothing: whether devices,"
                    + " directory and buckets are there, for probes of a running service")
    private boolean isQuick;

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores.config();
        Report report = report();
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
            String subject = config.buckets().size() == 1 ? "bucket" : "bucket " + layer;
            for (CheckResult result : bucket(layer)) {
                isHealthy &= add(report, subject, result);
            }
        }
        report.data("healthy", isHealthy).print();
        return isHealthy ? 0 : 1;
    }

    /** Adds a check to the report. Returns false for a problem. */
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
            return new Sound(directory + " is created by the first program");
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

    private List<CheckResult> bucket(BucketConfig layer) {
        if (layer instanceof BucketConfig.Directory shared) {
            return List.of(TierFactory.shared(shared).check(isQuick));
        }
        try (BucketTier tier = TierFactory.bucket(layer, Optional.empty())) {
            return isQuick
                    ? List.of(tier.reach()
                            .<CheckResult>map(problem -> problem)
                            .orElseGet(() -> new Sound(layer.name() + " answers")))
                    : tier.check();
        } catch (ConfigException e) {
            return List.of(new Problem(
                    String.valueOf(e.getMessage()),
                    "correct --bucket or --endpoint, or GRANARY_BUCKET or GRANARY_S3_ENDPOINT"));
        }
    }
}
