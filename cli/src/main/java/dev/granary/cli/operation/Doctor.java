package dev.granary.cli.operation;

import dev.granary.cache.Backend;
import dev.granary.cache.support.CheckResult;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.HostDevices;
import dev.granary.cli.option.UsageException;
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

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Checks of all that Granary needs on this machine. */
final class Doctor {
    private static final long LOW_SPACE_BYTES = 256L << 20;

    private final GranaryConfig config;
    private final boolean isQuick;
    private final List<Check> checks = new ArrayList<>();

    /**
     * Creates a doctor.
     *
     * @param isQuick true if nothing is written, and each bucket gets one request
     */
    Doctor(GranaryConfig config, boolean isQuick) {
        this.config = config;
        this.isQuick = isQuick;
    }

    /**
     * One check.
     *
     * @param subject the checked part of this machine or of the configuration
     * @param result the result
     */
    record Check(String subject, CheckResult result) {}

    /** Checks the selected devices, the local directory and the buckets, in this order. */
    List<Check> examine(DeviceSelection devices) throws UsageException {
        sound("java", System.getProperty("java.version") + ", granary " + GranaryConfig.VERSION);
        examineDevices(devices);
        examineDirectory();
        if (config.buckets().isEmpty()) {
            sound(
                    "bucket",
                    "none is configured: kernels are shared on this machine only (--bucket or"
                            + " GRANARY_BUCKET)");
        }
        for (BucketConfig layer : config.buckets()) {
            examineBucket(config.buckets().size() == 1 ? "bucket" : "bucket " + layer, layer);
        }
        return List.copyOf(checks);
    }

    /** A missing backend is a problem if it is selected, or if no other has a device. */
    private void examineDevices(DeviceSelection selection) throws UsageException {
        try {
            sound("devices", Units.plural(selection.all().size(), "device"));
        } catch (CommandFailedException e) {
            Backend backend = selection.backend().orElse(Backend.OPENCL);
            checks.add(new Check(backend.path(), problem(HostDevices.of(backend))));
        }
    }

    private static CheckResult problem(HostDevices none) {
        return switch (none.backend()) {
            case OPENCL ->
                none.missing()
                        .map(cause -> new CheckResult.Problem(
                                cause,
                                "install it and the driver of the device, on Debian: apt-get"
                                        + " install ocl-icd-libopencl1 pocl-opencl-icd (for the"
                                        + " CPU)"))
                        .orElseGet(() -> new CheckResult.Problem(
                                "the loader reports no device",
                                "install the driver of the device, on Debian for the CPU: apt-get"
                                        + " install pocl-opencl-icd"));
            case LEVEL_ZERO ->
                new CheckResult.Problem(
                        none.missing().orElse("the loader reports no device"),
                        "install the loader and the driver of the device, or use --backend opencl");
        };
    }

    private void examineDirectory() {
        if (config.capacityBytes() == 0) {
            sound("directory", "not used: the capacity is 0, so nothing is stored on disk");
            return;
        }
        if (isQuick && Files.notExists(config.directory())) {
            sound("directory", config.directory() + " is created by the first program");
            return;
        }
        try (LocalTier tier = TierFactory.localWithoutEviction(config)) {
            if (!Files.isWritable(config.directory())) {
                problem(
                        "directory",
                        config.directory()
                                + " is not writable: entries are read, but none are stored",
                        "give this user write access, or name another directory with --dir or"
                                + " GRANARY_DIR");
                return;
            }
            DirectoryUsage usage = tier.usage();
            long space = Files.getFileStore(config.directory()).getUsableSpace();
            if (space < LOW_SPACE_BYTES) {
                problem(
                        "directory",
                        config.directory() + " has only " + (space >> 20) + " MiB of disk left",
                        "free some, or name another");
            } else {
                sound(
                        "directory",
                        config.directory() + ", on "
                                + Files.getFileStore(config.directory()).type() + ", "
                                + (usage.diskBytes() >> 20) + " of "
                                + (config.capacityBytes() >> 20) + " MiB used" + locks()
                                + (usage.hasFormerTree()
                                        ? "; its subdirectory v2 is of an earlier version; a sweep"
                                                + " removes it after a day without use"
                                        : ""));
            }
        } catch (ConfigException | IOException e) {
            problem(
                    "directory",
                    String.valueOf(e.getMessage()),
                    "name another directory with --dir or GRANARY_DIR");
        }
    }

    private String locks() {
        if (isQuick) {
            return "";
        }
        try (LocalClaims claims = LocalClaims.open(config.directory())) {
            return claims.claim(Tiers.UNKNOWN_ID) instanceof ClaimResult.Unavailable(String reason)
                    ? "; file locks do not work there, so processes compile the same kernel at the"
                            + " same time: " + reason
                    : "";
        }
    }

    private void examineBucket(String subject, BucketConfig layer) {
        try (BucketTier tier = TierFactory.bucket(layer, Optional.empty())) {
            List<CheckResult> results = isQuick
                    ? List.of(tier.reach()
                            .<CheckResult>map(problem -> problem)
                            .orElseGet(() -> new CheckResult.Sound(layer.name() + " answers")))
                    : tier.check();
            results.forEach(result -> checks.add(new Check(subject, result)));
        } catch (ConfigException e) {
            problem(
                    subject,
                    String.valueOf(e.getMessage()),
                    "correct --bucket or --endpoint, or GRANARY_BUCKET or GRANARY_S3_ENDPOINT");
        }
    }

    private void sound(String subject, String finding) {
        checks.add(new Check(subject, new CheckResult.Sound(finding)));
    }

    private void problem(String subject, String cause, String cure) {
        checks.add(new Check(subject, new CheckResult.Problem(cause, cure)));
    }
}
