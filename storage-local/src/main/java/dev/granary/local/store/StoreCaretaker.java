package dev.granary.local.store;

import dev.granary.cache.DamageKind;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;

/**
 * Caretaker of the store: records uses, removes damaged entries, repairs a store in disorder.
 * Thread-safe.
 */
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

    /** Records a use of the located entry. */
    public void used(EntryReader.Place place) {
        if (policy == EvictionPolicy.LRU && place.index() != null) {
            uses.note(place.index(), place.slot());
        }
    }

    /**
     * Removes a damaged entry. An entry of another version is left to that version; the next store
     * of its id here replaces it.
     */
    public boolean removeDamaged(EntryReader.Place place, DamageKind damage) {
        boolean removed = damage != DamageKind.TOO_NEW && damage != DamageKind.TOO_OLD && removing(() -> commit.removeSoon(place));
        if (removed) {
            healed();
        }
        return removed;
    }

    /** Counts a damaged entry that was removed or replaced. */
    public void healed() {
        healed.increment();
    }

    /** Returns the number of damaged entries that were removed or replaced. */
    public long healedSoFar() {
        return healed.sum();
    }

    public interface Reading {
        LoadResult read(OpenStoreFiles files) throws IOException;
    }

    /**
     * Reads from the store. If that fails, the store is repaired and the result is {@code
     * Unavailable}.
     */
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
     * Reads again after a file was truncated under its mapping, which a sweep does and which is no
     * failure. {@link SegmentFile#copy} reports most truncations itself. Compiled code may report
     * one only after the copy, with the mapping still in use.
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
     * Reads from the store for a caller that expects exceptions.
     *
     * @throws IOException if the store cannot be read, also because a file was truncated under its
     *     mapping; the store was then repaired
     */
    public <T> T looking(Looking<T> looking) throws IOException {
        try {
            return looking.look();
        } catch (InternalError e) {
            trouble.record(IoFailureLog.Kind.READING, e);
            repair();
            throw new IOException("a file of the local store was truncated while it was read", e);
        }
    }

    public interface Removal {
        boolean run() throws IOException;
    }

    /** Runs a removal; returns false if it failed. */
    public boolean removing(Removal removal) {
        try {
            return removal.run();
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.REMOVING, e);
            return false;
        }
    }

    /** Repairs the store as far as possible. */
    public void repair() {
        try {
            store.repair();
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.ACCOUNTING, e);
        }
    }
}
