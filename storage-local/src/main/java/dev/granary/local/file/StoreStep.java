package dev.granary.local.file;

/** Steps of the changes of a store, roughly in order; tests kill a process after each. */
public enum StoreStep {
    /** The file of a new segment exists; nothing refers to it. */
    SEGMENT_CREATED,
    /** New entries go to the new segment; the old one is not yet truncated. */
    APPEND_POSITION_MOVED,
    /** Space for an entry is reserved. */
    RESERVED,
    /** Another part of the entry is written. */
    PART_WRITTEN,
    /** The commit lock is held. */
    LOCKED,
    /** The state page marks a change in progress. */
    MARKED,
    /** The recovery journal lists the replaced entries; the index does not have the new entry. */
    ANNOUNCED,
    /** The commit point: the index has the entry. */
    ENTERED,
    /** The counts in the state page are correct again; the lock is still held. */
    COUNTED,
    /** The commit lock is released. */
    COMMITTED,
    /** A new index is complete; nothing refers to it. */
    INDEX_WRITTEN,
    /** The state page names the new index; the old file still exists. */
    INDEX_REPLACED,
    /** All segments but the last are closed. */
    CLOSED,
    /** A batch of evicted entries is removed from the index. */
    EVICTED,
    /** A hole was punched. */
    PUNCHED,
    /** Entries of a segment are copied, and the index has the locations of the copies. */
    MOVED,
    /** A segment is marked as gone; its file still exists. */
    MARKED_GONE,
    /** The file of a segment is removed. */
    REMOVED;

    /** Listener for completed steps. */
    @FunctionalInterface
    public interface Listener {
        /** A listener that does nothing. */
        Listener NONE = step -> {};

        /** Called when the step is done. */
        void done(StoreStep step);
    }
}
