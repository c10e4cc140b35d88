package dev.granary.s3.pack.manifest;

/**
 * The plan of a commit on top of the newest manifest, with the finding on which it is based.
 *
 * @param <F> the type of the finding
 */
public sealed interface ManifestPlan<F> {
    /** The finding of a plan without one. */
    enum NoFinding {
        NONE
    }

    /**
     * The next manifest is committed.
     *
     * @param manifest the next manifest
     * @param finding the finding
     */
    record Commit<F>(PackManifest manifest, F finding) implements ManifestPlan<F> {}

    /**
     * Nothing is to be changed in the newest manifest.
     *
     * @param finding the finding
     */
    record Nothing<F>(F finding) implements ManifestPlan<F> {}

    /** Returns a plan without a finding to commit {@code next}. */
    static ManifestPlan<NoFinding> commit(PackManifest next) {
        return new Commit<>(next, NoFinding.NONE);
    }

    /** Returns a plan without a finding to change nothing. */
    static ManifestPlan<NoFinding> nothing() {
        return new Nothing<>(NoFinding.NONE);
    }
}
