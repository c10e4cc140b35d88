package dev.granary.cache;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * The fields of an entry beside its id and its binaries. They serve people and statistics, and
 * never affect correctness.
 *
 * @param granaryVersion the version of Granary that wrote the entry
 * @param producer the name of the machine and process that compiled it
 * @param createdAt the compile time by the producer's clock, in milliseconds; clamped to the range
 *     of a {@code long} of milliseconds since 1970
 * @param kernels the names of the kernels in the binaries
 * @param geometries the launch geometries that the binaries cover without another compile; empty if
 *     the driver needs none
 * @param readableKey the key as one line of readable text
 */
public record EntryMetadata(
        String granaryVersion,
        String producer,
        Instant createdAt,
        List<String> kernels,
        List<String> geometries,
        String readableKey) {
    private static final Instant FIRST = Instant.ofEpochMilli(Long.MIN_VALUE);
    private static final Instant LAST = Instant.ofEpochMilli(Long.MAX_VALUE);

    /** Copies the lists, truncates the time to milliseconds and clamps it. */
    public EntryMetadata {
        createdAt = createdAt.isBefore(FIRST)
                ? FIRST
                : createdAt.isAfter(LAST) ? LAST : createdAt.truncatedTo(ChronoUnit.MILLIS);
        kernels = List.copyOf(kernels);
        geometries = List.copyOf(geometries);
    }
}
