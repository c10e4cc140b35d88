package dev.granary.coordinator.machine;

/**
 * The claim of a lookup on its id, or {@link #NONE}. It is passed on to write-behind, which closes
 * it when the entry is stored or will not be. Thread-safe; a claim may be closed more than once.
 */
public interface Claim extends AutoCloseable {
    /** No claim, if none is available or needed. */
    Claim NONE = new Claim() {
        @Override
        public void awaitLaunch() {}

        @Override
        public void launched() {}

        @Override
        public void close() {}
    };

    /**
     * Records that the binaries will be complete after the first launch. Other processes wait for
     * that for a limited time.
     */
    void awaitLaunch();

    /** Records the first launch: the binaries are about to be stored. */
    void launched();

    /** Releases the claim. */
    @Override
    void close();
}
