package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
import java.util.Optional;

/**
 * What one bucket has answered up to a moment.
 *
 * @param name its location, and its endpoint where it has one
 * @param results look-ups and stores by result; a look-up that went on without the answer counts as unavailable
 * @param skipped look-ups that did not ask it, because asking had cost more time than it brought
 * @param trouble the cause of the first look-up that failed there, in one line; empty where none did. An answer that came late once is no failure
 * @param late answers under way for which no caller waits any more
 * @param lateAnswers answers that came too late for their callers, and were no failures
 * @param lostPacks packs that the manifest named and the bucket has lost, as far as publishing met any
 */
public record LayerStatistics(String name, TierStatistics.Snapshot results, long skipped, Optional<String> trouble, int late, long lateAnswers,
        LostPacks lostPacks) {
    /**
     * Counts of packs that the manifest names and the bucket does not have.
     *
     * @param forgotten packs that were taken off the manifest
     * @param failures attempts that failed or have an unknown outcome: the manifest may still name such
     *     packs, and {@code warm} reports them
     * @param cause the cause of the first such failure, in one line; empty if there was none
     */
    public record LostPacks(long forgotten, long failures, Optional<String> cause) {}
}
