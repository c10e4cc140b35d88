package dev.granary.s3.store;

/** An object store for one lookup, whose requests share one deadline. */
public interface DeadlineBound {
    /**
     * Returns the time within which a request may still be sent, in nanoseconds; 0 if none may.
     * Other waits of the lookup must not exceed it.
     */
    long remainingNanos();
}
