package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;

import java.io.IOException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The kernels of a recording that machines of one target have used, by their notes of use. */
final class UsedKernels {
    private static final int DAYS = 30;

    /** The hexadecimal digits of the prefix of an id in a note. */
    private static final int DIGITS = 16;

    private UsedKernels() {}

    /** Returns the kernels whose recorded id for {@code target} a note of the last days has. */
    static List<KernelSpec> like(String target, List<KernelSpec> kernels, BucketConfig bucket)
            throws ConfigException, CommandFailedException {
        if (!(bucket instanceof BucketConfig.S3 s3)) {
            throw new ConfigException("--like needs a bucket; " + bucket.name() + " is none");
        }
        if (kernels.stream().noneMatch(kernel -> !ids(kernel, target).isEmpty())) {
            throw new ConfigException("--like " + target + ": no kernel of the manifest was"
                    + " recorded for it; granary manifest --json lists the targets");
        }
        Set<Long> used = new HashSet<>();
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        try (BucketTier tier = TierFactory.bucketForBackground(s3)) {
            tier.useNotes().read(today.minusDays(DAYS), today.plusDays(1), note -> {
                for (long prefix : note.ids().getOrDefault(target, new long[0])) {
                    used.add(prefix);
                }
            });
        } catch (IOException e) {
            throw new CommandFailedException(String.valueOf(e.getMessage()));
        }
        List<KernelSpec> liked = kernels.stream()
                .filter(kernel -> ids(kernel, target).stream()
                        .map(id -> Long.parseUnsignedLong(id.hash(), 0, DIGITS, DIGITS))
                        .anyMatch(used::contains))
                .toList();
        if (liked.isEmpty()) {
            throw new CommandFailedException("no machine of " + target + " has noted the use of a"
                    + " kernel of the manifest in the last " + DAYS + " days; nothing was"
                    + " compiled");
        }
        return liked;
    }

    private static List<RecordedId> ids(KernelSpec kernel, String target) {
        return kernel.recordedIds().stream()
                .filter(id -> id.target().path().equals(target))
                .toList();
    }
}
