package dev.granary.coordinator.admin;

import java.util.Map;
import java.util.Optional;

/**
 * What warming from one bucket for one target did.
 *
 * @param entries how many entries the bucket has that were wanted
 * @param entriesAlone how many of them lie outside of packs
 * @param installed how many are in the local tier now that were not before
 * @param installedBytes their bytes on the disk
 * @param present how many the local tier had already
 * @param receivedBytes what came from the bucket
 * @param requests how many requests were sent
 * @param skipped what could not be had or not be kept, by reason
 * @param displaced how many left the local tier meanwhile, which keeps to its capacity
 * @param unlisted why the entries outside of packs could not be listed; empty where they could
 */
public record WarmReport(
        long entries,
        long entriesAlone,
        long installed,
        long installedBytes,
        long present,
        long receivedBytes,
        long requests,
        Map<String, Skipped> skipped,
        long displaced,
        Optional<String> unlisted) {
    /** Copies the map. */
    public WarmReport {
        skipped = Map.copyOf(skipped);
    }

    /**
     * Entries that were skipped for one reason.
     *
     * @param entries how many
     * @param bytes how long they are in the bucket
     */
    public record Skipped(long entries, long bytes) {
        Skipped plus(Skipped other) {
            return new Skipped(entries + other.entries, bytes + other.bytes);
        }
    }

    WarmReport displacing(long count) {
        return new WarmReport(entries, entriesAlone, installed, installedBytes, present, receivedBytes, requests, skipped, count, unlisted);
    }

    /** True where all that the bucket has is in the local tier, or was. */
    public boolean isWhole() {
        return skipped.isEmpty() && unlisted.isEmpty();
    }

    /** How many entries were skipped. */
    public long skippedEntries() {
        return skipped.values().stream().mapToLong(Skipped::entries).sum();
    }
}
