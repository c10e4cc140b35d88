package dev.granary.s3.pack.compact;

import dev.granary.s3.register.RegisterException;

/** Thrown if a compaction stops; nothing is lost. The message is for people. */
public final class CompactionException extends Exception {
    private static final long serialVersionUID = 1;

    CompactionException(String message) {
        super(message, null, false, false);
    }

    static CompactionException of(RegisterException cause) {
        return new CompactionException(
                cause.isLoss()
                        ? cause.getMessage() + "; compact --adopt names the packs that are there"
                        : String.valueOf(cause.getMessage()));
    }
}
