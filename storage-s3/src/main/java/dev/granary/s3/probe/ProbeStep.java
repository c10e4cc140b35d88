package dev.granary.s3.probe;

import dev.granary.s3.store.StoreFailure;

/** Result of one step of a {@link CapabilityProbe}. */
sealed interface ProbeStep {
    /** The server behaved as required. */
    record Passed() implements ProbeStep {}

    /**
     * The server did not.
     *
     * @param how its behaviour instead
     */
    record Broken(String how) implements ProbeStep {}

    /**
     * The step ended early.
     *
     * @param failure the cause
     */
    record Aborted(StoreFailure failure) implements ProbeStep {}

    /** The only {@link Passed}. */
    ProbeStep PASSED = new Passed();
}
