package dev.granary.local;

import dev.granary.cache.Damage;
import dev.granary.cache.LoadResult;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;

/** What follows from what was found: a use is noted, a damaged entry is taken out, a store in disorder is put in order. Thread-safe. */
final class Aftercare {
    private final SegmentStore store;
    private final Commit commit;
    private final Uses uses;
    private final EvictionPolicy policy;
    private final Trouble trouble;
    private final LongAdder healed = new LongAdder();

    Aftercare(SegmentStore store, Commit commit, Uses uses, EvictionPolicy policy, Trouble trouble) {
        this.store = store;
        this.commit = commit;
        this.uses = uses;
        this.policy = policy;
        this.trouble = trouble;
    }

    /** The entry at that place was used. */
    void used(Shelf.Place place) {
        if (policy == EvictionPolicy.LRU && place.index() != null) {
            uses.note(place.index(), place.slot());
        }
    }

    /** Takes a damaged entry out. Another version's stays for that version; the next store of its id here replaces it. */
    boolean removeDamaged(Shelf.Place place, Damage damage) {
        boolean removed = damage != Damage.TOO_NEW && damage != Damage.TOO_OLD && removing(() -> commit.removeSoon(place));
        if (removed) {
            healed();
        }
        return removed;
    }

    /** A damaged entry is gone or replaced. */
    void healed() {
        healed.increment();
    }

    /** How many damaged entries are gone or replaced. */
    long healedSoFar() {
        return healed.sum();
    }

    interface Reading {
        LoadResult read(StoreFiles files) throws IOException;
    }

    /** Reads from the store as it is; one that cannot be read is put in order, and has nothing. */
    LoadResult reading(Reading reading) {
        try {
            return twice(store, () -> {
                StoreFiles files = store.files();
                return files == null ? LoadResult.ABSENT : reading.read(files);
            });
        } catch (IOException | InternalError e) {
            trouble.record(Trouble.Kind.READING, e);
            repair();
            return new LoadResult.Unavailable(e.toString());
        }
    }

    interface Looking<T> {
        T look() throws IOException;
    }

    /**
     * Looks again where a file was cut under its mapping: a sweep does that, and it is no reason to fail. {@link Segment#copy} tells of most
     * cuts itself; compiled code may tell of one only behind it, and then nobody has let go of the mapping.
     */
    static <T> T twice(SegmentStore store, Looking<T> looking) throws IOException {
        try {
            return looking.look();
        } catch (InternalError e) {
            store.dropCutSegments();
            return looking.look();
        }
    }

    /**
     * Looks through the store for a caller who is told of failure by an exception.
     *
     * @throws IOException if the store cannot be read, also where a file was cut under its mapping; it was put in order then
     */
    <T> T looking(Looking<T> looking) throws IOException {
        try {
            return looking.look();
        } catch (InternalError e) {
            trouble.record(Trouble.Kind.READING, e);
            repair();
            throw new IOException("a file of the local store was cut while it was read", e);
        }
    }

    interface Removal {
        boolean run() throws IOException;
    }

    /** Removes something; false where that failed. */
    boolean removing(Removal removal) {
        try {
            return removal.run();
        } catch (IOException | InternalError e) {
            trouble.record(Trouble.Kind.REMOVING, e);
            return false;
        }
    }

    /** Puts the store in order, as far as that can be done. */
    void repair() {
        try {
            store.repair();
        } catch (IOException | InternalError e) {
            trouble.record(Trouble.Kind.ACCOUNTING, e);
        }
    }
}
