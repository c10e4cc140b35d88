package dev.granary.s3.probe;

import dev.granary.s3.store.StoreFailure;

/** What one step of a {@link CapabilityProbe} showed. */
sealed interface ProbeStep {
    /** The promise was kept. */
    record Kept() implements ProbeStep {}

    /**
     * It was not.
     *
     * @param how what the server did instead
     */
    record Broken(String how) implements ProbeStep {}

    /**
     * The server could not be asked to the end.
     *
     * @param failure why
     */
    record Cut(StoreFailure failure) implements ProbeStep {}

    /** The one {@link Kept}. */
    ProbeStep KEPT = new Kept();
}
