package dev.granary.s3.store;

/** An object store for one look-up, whose requests all end within one deadline. */
public interface DeadlineBound {
    /** For how long, in nanoseconds, a request may still be sent; 0 where none may. Whoever waits for something else meanwhile waits no longer. */
    long roomNanos();
}
