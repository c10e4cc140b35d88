package dev.granary.cache;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * What is told about an entry beside its key and its binaries: for people and for statistics, never for a decision about correctness.
 *
 * @param libraryVersion the version of Granary that wrote the entry
 * @param producer which process of which machine compiled it, as it names itself
 * @param createdAt when it was compiled, by the producer's clock, to the millisecond; a time that no {@code long} of milliseconds since 1970 holds
 *     becomes the nearest that one does
 * @param kernels the names of the kernels in the binaries
 * @param geometries the launch geometries that the binaries cover without compiling again; empty where the driver needs none
 * @param readableKey the key in words, one line
 */
public record EntryMetadata(
        String libraryVersion, String producer, Instant createdAt, List<String> kernels, List<String> geometries, String readableKey) {
    private static final Instant FIRST = Instant.ofEpochMilli(Long.MIN_VALUE);
    private static final Instant LAST = Instant.ofEpochMilli(Long.MAX_VALUE);

    /** Copies the lists, and cuts the time to milliseconds that can be stored. */
    public EntryMetadata {
        createdAt = createdAt.isBefore(FIRST) ? FIRST : createdAt.isAfter(LAST) ? LAST : createdAt.truncatedTo(ChronoUnit.MILLIS);
        kernels = List.copyOf(kernels);
        geometries = List.copyOf(geometries);
    }
}
