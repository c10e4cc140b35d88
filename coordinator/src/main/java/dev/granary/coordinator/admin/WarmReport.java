package dev.granary.coordinator.admin;

import java.util.Map;
import java.util.Optional;

/**
 * Report of warming from one bucket for one target.
 *
 * @param entries the number of wanted entries in the bucket
 * @param unpackedEntries how many of them are unpacked
 * @param installed the number of entries added to the local tier
 * @param installedBytes their length on disk, in bytes
 * @param present the number of entries that the local tier had already
 * @param receivedBytes the number of bytes received from the bucket
 * @param requests the number of requests sent
 * @param skipped the entries that could not be read or stored, by cause
 * @param displaced the number of entries that were evicted meanwhile to stay below the capacity
 * @param unlisted the cause if the unpacked entries could not be listed, else empty
 */
public record WarmReport(
        long entries,
        long unpackedEntries,
        long installed,
        long installedBytes,
        long present,
        long receivedBytes,
        long requests,
        Map<String, Skipped> skipped,
        long displaced,
        Optional<String> unlisted) {
    /** Creates a report with a copy of {@code skipped}. */
    public WarmReport {
        skipped = Map.copyOf(skipped);
    }

    /**
     * Entries that were skipped for one cause.
     *
     * @param entries the number of entries
     * @param bytes their length in the bucket, in bytes
     */
    public record Skipped(long entries, long bytes) {
        Skipped plus(Skipped other) {
            return new Skipped(entries + other.entries, bytes + other.bytes);
        }
    }

    WarmReport displacing(long count) {
        return new WarmReport(
                entries,
                unpackedEntries,
                installed,
                installedBytes,
                present,
                receivedBytes,
                requests,
                skipped,
                count,
                unlisted);
    }

    /** Returns true if no entry of the bucket was skipped and none remained unlisted. */
    public boolean isWhole() {
        return skipped.isEmpty() && unlisted.isEmpty();
    }

    /** Returns the number of skipped entries. */
    public long skippedEntries() {
        return skipped.values().stream().mapToLong(Skipped::entries).sum();
    }
}
