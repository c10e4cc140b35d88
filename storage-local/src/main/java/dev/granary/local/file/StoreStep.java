package dev.granary.local.file;

/** The steps of changing the store, roughly in order; tests kill a process after each. */
public enum StoreStep {
    /** The file of a new segment exists; nothing names it. */
    SEGMENT_CREATED,
    /** New entries go to the new segment; the old one has not been cut to its length. */
    TAIL_MOVED,
    /** Room for an entry is taken. */
    RESERVED,
    /** Another part of the entry is written. */
    PART_WRITTEN,
    /** The commit lock is held. */
    LOCKED,
    /** The state says that a change is under way. */
    MARKED,
    /** The state says what the entry will replace; the index does not have the entry. */
    ANNOUNCED,
    /** The commit point: the index has the entry. */
    ENTERED,
    /** The counts in the state are right again; the lock is still held. */
    COUNTED,
    /** The lock is free. */
    COMMITTED,
    /** A new index is complete; nothing names it. */
    INDEX_WRITTEN,
    /** The state names the new index; the old one is still there. */
    INDEX_REPLACED,
    /** Segments that take no new entries are closed. */
    CLOSED,
    /** Some of the entries that must leave have left the index. */
    EVICTED,
    /** A hole was punched. */
    PUNCHED,
    /** Entries of a segment were copied and the index leads to the copies. */
    MOVED,
    /** A segment is marked as gone; its file is still there. */
    MARKED_GONE,
    /** The file of a segment is removed. */
    REMOVED;

    /** Told when a step is done. */
    @FunctionalInterface
    public interface Listener {
        /** Nobody listens. */
        Listener NONE = step -> {};

        /** The step is done. */
        void done(StoreStep step);
    }
}
