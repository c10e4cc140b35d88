package dev.granary.local.store;

import dev.granary.cache.DamageKind;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;

/** What follows from what was found: a use is noted, a damaged entry is taken out, a store in disorder is put in order. Thread-safe. */
public final class StoreCaretaker {
    private final SegmentStore store;
    private final IndexCommitter commit;
    private final LastUseRecorder uses;
    private final EvictionPolicy policy;
    private final IoFailureLog trouble;
    private final LongAdder healed = new LongAdder();

    public StoreCaretaker(SegmentStore store, IndexCommitter commit, LastUseRecorder uses, EvictionPolicy policy, IoFailureLog trouble) {
        this.store = store;
        this.commit = commit;
        this.uses = uses;
        this.policy = policy;
        this.trouble = trouble;
    }

    /** The entry at that place was used. */
    public void used(EntryReader.Place place) {
        if (policy == EvictionPolicy.LRU && place.index() != null) {
            uses.note(place.index(), place.slot());
        }
    }

    /** Takes a damaged entry out. Another version's stays for that version; the next store of its id here replaces it. */
    public boolean removeDamaged(EntryReader.Place place, DamageKind damage) {
        boolean removed = damage != DamageKind.TOO_NEW && damage != DamageKind.TOO_OLD && removing(() -> commit.removeSoon(place));
        if (removed) {
            healed();
        }
        return removed;
    }

    /** A damaged entry is gone or replaced. */
    public void healed() {
        healed.increment();
    }

    /** How many damaged entries are gone or replaced. */
    public long healedSoFar() {
        return healed.sum();
    }

    public interface Reading {
        LoadResult read(OpenStoreFiles files) throws IOException;
    }

    /** Reads from the store as it is; one that cannot be read is put in order, and has nothing. */
    public LoadResult reading(Reading reading) {
        try {
            return twice(store, () -> {
                OpenStoreFiles files = store.files();
                return files == null ? LoadResult.ABSENT : reading.read(files);
            });
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.READING, e);
            repair();
            return new LoadResult.Unavailable(e.toString());
        }
    }

    public interface Looking<T> {
        T look() throws IOException;
    }

    /**
     * Looks again where a file was cut under its mapping: a sweep does that, and it is no reason to fail. {@link SegmentFile#copy} tells of most
     * cuts itself; compiled code may tell of one only behind it, and then nobody has let go of the mapping.
     */
    public static <T> T twice(SegmentStore store, Looking<T> looking) throws IOException {
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
    public <T> T looking(Looking<T> looking) throws IOException {
        try {
            return looking.look();
        } catch (InternalError e) {
            trouble.record(IoFailureLog.Kind.READING, e);
            repair();
            throw new IOException("a file of the local store was cut while it was read", e);
        }
    }

    public interface Removal {
        boolean run() throws IOException;
    }

    /** Removes something; false where that failed. */
    public boolean removing(Removal removal) {
        try {
            return removal.run();
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.REMOVING, e);
            return false;
        }
    }

    /** Puts the store in order, as far as that can be done. */
    public void repair() {
        try {
            store.repair();
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.ACCOUNTING, e);
        }
    }
}
