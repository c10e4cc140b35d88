package dev.granary.s3.transport;

import dev.granary.s3.store.StoreFailure;

import java.io.IOException;

/**
 * Thrown if a body is longer than this process has memory for; reported as
 * {@link StoreFailure.Kind#NO_MEMORY}.
 */
final class TooLittleMemoryException extends IOException {
    private static final long serialVersionUID = 1;

    TooLittleMemoryException(long bytes) {
        super("the object has more than the " + bytes + " bytes that this process has memory for");
    }
}
