package dev.granary.cache.support;

/** Result of one check of a driver, a directory or a bucket, for users. */
public sealed interface CheckResult {
    /**
     * A check that succeeded.
     *
     * @param finding the observation, in one line
     */
    record Sound(String finding) implements CheckResult {}

    /**
     * A limitation; Granary works with it.
     *
     * @param finding the observation, in one line
     * @param advice the consequence and the remedy, in one line
     */
    record Notice(String finding, String advice) implements CheckResult {}

    /**
     * A check that failed.
     *
     * @param cause the reason, in one line
     * @param cure the remedy, in one line
     */
    record Problem(String cause, String cure) implements CheckResult {}
}
