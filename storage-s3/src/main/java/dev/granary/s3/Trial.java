package dev.granary.s3;

import dev.granary.s3.store.Failure;

/** What one step of a {@link Probe} showed. */
sealed interface Trial {
    /** The promise was kept. */
    record Kept() implements Trial {}

    /**
     * It was not.
     *
     * @param how what the server did instead
     */
    record Broken(String how) implements Trial {}

    /**
     * The server could not be asked to the end.
     *
     * @param failure why
     */
    record Cut(Failure failure) implements Trial {}

    /** The one {@link Kept}. */
    Trial KEPT = new Kept();
}
