package dev.granary.coordinator.claim;

import dev.granary.coordinator.publish.WriteBehindQueue;

/**
 * What a look-up holds while it comes by an entry: the claim on its id, or {@link #NONE}. It is passed on to {@link WriteBehindQueue}, which
 * closes it when the entry is stored or will not be. Any thread may call any method, and close more than once.
 */
public interface CompileClaim extends AutoCloseable {
    /** No claim: none is to be had, or none is needed. */
    CompileClaim NONE = new CompileClaim() {
        @Override
        public void awaitLaunch() {}

        @Override
        public void launched() {}

        @Override
        public void close() {}
    };

    /** The primitive is compiled and its binaries will be whole after its first launch. Others wait a little for that, not for ever. */
    void awaitLaunch();

    /** The launch has come: the binaries are being taken and stored. */
    void launched();

    /** Lets go. */
    @Override
    void close();
}
