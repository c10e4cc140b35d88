package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;

import java.util.Optional;

/**
 * Snapshot of the counters of one bucket.
 *
 * @param name its location, and its endpoint if it has one
 * @param results lookups and stores by result; a lookup that went on without an answer counts as
 *     unavailable
 * @param skipped lookups that skipped it because its time budget was used up
 * @param failure the cause of the first failed lookup there, in one line; empty if none failed. A
 *     single late answer is no failure
 * @param late answers under way for which no caller waits
 * @param lateAnswers answers that came too late for their callers and were no failures
 * @param lostPacks packs that the manifest names and the bucket has lost, as far as publishing
 *     found any
 */
public record LayerStatistics(
        String name,
        TierStatistics.Snapshot results,
        long skipped,
        Optional<String> failure,
        int late,
        long lateAnswers,
        LostPacks lostPacks) {
    /**
     * Counts of packs that the manifest names and the bucket does not have.
     *
     * @param forgotten packs that were removed from the manifest
     * @param failures attempts that failed or are ambiguous: the manifest may still name such
     *     packs, and {@code warm} reports them
     * @param cause the cause of the first such failure, in one line; empty if there was none
     */
    public record LostPacks(long forgotten, long failures, Optional<String> cause) {}
}
