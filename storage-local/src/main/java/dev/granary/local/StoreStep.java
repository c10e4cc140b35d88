package dev.granary.local;

/** Step of a change in the directory, after which tests stop or kill the process. */
enum StoreStep {
    /** A part of a new entry is written beside its place. */
    PART_WRITTEN,
    /** A new entry is complete beside its place. */
    WRITTEN,
    /** The commit point: the new entry is in its place. */
    IN_PLACE,
    /** An entry to be removed is renamed. */
    SET_ASIDE,
    /** A sound entry that had been set aside is in its place again; its other name still exists. */
    PUT_BACK,
    /** A sweep knows the sizes and last uses of all entries. */
    SCANNED,
    /** An entry is evicted. */
    EVICTED,
    /** One of the entries that are cleared is removed. */
    CLEARED;

    /** Listener for completed steps. */
    @FunctionalInterface
    interface Listener {
        /** A listener that does nothing. */
        Listener NONE = _ -> {};

        /** Called when the step is done. */
        void done(StoreStep step);
    }
}
