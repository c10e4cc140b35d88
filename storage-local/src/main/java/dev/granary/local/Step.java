package dev.granary.local;

/** The steps of storing an entry, in order; tests kill a writer after each. */
enum Step {
    /** The temporary file exists and is empty. */
    CREATED,
    /** Half of the bytes are in the temporary file. */
    HALF_WRITTEN,
    /** All bytes are there. */
    WRITTEN,
    /** The temporary file has its time stamp. */
    STAMPED,
    /** The account is locked and says that a change is under way. */
    LOCKED,
    /** The commit point: the entry has its name. */
    RENAMED,
    /** The account knows of the entry and is unlocked. */
    ACCOUNTED;

    /** Told when a step is done. */
    @FunctionalInterface
    interface Listener {
        /** Nobody listens. */
        Listener NONE = step -> {};

        /** The step is done. */
        void done(Step step);
    }
}
