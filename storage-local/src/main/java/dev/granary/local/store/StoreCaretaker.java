package dev.granary.local.store;

import dev.granary.cache.DamageKind;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.MappingFault;
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
    private final EntryRemover remover;
    private final LastUseRecorder lastUses;
    private final EvictionPolicy policy;
    private final IoFailureLog failures;
    private final LongAdder healedEntries = new LongAdder();

    public StoreCaretaker(
            SegmentStore store,
            EntryRemover remover,
            LastUseRecorder lastUses,
            EvictionPolicy policy,
            IoFailureLog failures) {
        this.store = store;
        this.remover = remover;
        this.lastUses = lastUses;
        this.policy = policy;
        this.failures = failures;
    }

    /** Records a use of the located entry. */
    public void recordUse(EntryReader.LocatedEntry located) {
        if (policy == EvictionPolicy.LRU && located.index() != null) {
            lastUses.record(located.index(), located.slot());
        }
    }

    /**
     * Removes a damaged entry. An entry of another version is left to that version; the next store
     * of its id here replaces it.
     */
    public boolean removeDamaged(EntryReader.LocatedEntry located, DamageKind damage) {
        boolean removed = damage != DamageKind.TOO_NEW
                && damage != DamageKind.TOO_OLD
                && remove(() -> remover.removeBriefly(located));
        if (removed) {
            countHealed();
        }
        return removed;
    }

    /** Counts a damaged entry that was removed or replaced. */
    public void countHealed() {
        healedEntries.increment();
    }

    /** Returns the number of damaged entries that were removed or replaced. */
    public long healedCount() {
        return healedEntries.sum();
    }

    /** A read of one entry from the open files of a store. */
    public interface LoadOperation {
        LoadResult read(OpenStoreFiles files) throws IOException;
    }

    /**
     * Reads from the store. If that fails, the store is repaired and the result is
     * {@code Unavailable}.
     */
    public LoadResult load(LoadOperation operation) {
        try {
            return retryAfterTruncation(store, () -> {
                OpenStoreFiles files = store.files();
                return files == null ? LoadResult.ABSENT : operation.read(files);
            });
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.READING, e);
            repair();
            return new LoadResult.Unavailable(e.toString());
        }
    }

    /** A read that fails if a file of the store was truncated under its mapping. */
    public interface ReadOperation<T> {
        T read() throws IOException;
    }

    /**
     * Reads again after a file was truncated under its mapping, which a sweep does and which is no
     * failure. {@link SegmentFile#copy} reports those of segments itself.
     */
    public static <T> T retryAfterTruncation(SegmentStore store, ReadOperation<T> operation)
            throws IOException {
        try {
            return throwPendingFault(operation.read());
        } catch (InternalError e) {
            store.dropCutSegments();
            return throwPendingFault(operation.read());
        }
    }

    private static <T> T throwPendingFault(T result) {
        MappingFault.throwPending();
        return result;
    }

    /**
     * Reads from the store for a caller that expects exceptions.
     *
     * @throws IOException if the store cannot be read, also because a file was truncated under its
     *     mapping; the store was then repaired
     */
    public <T> T read(ReadOperation<T> operation) throws IOException {
        try {
            return throwPendingFault(operation.read());
        } catch (InternalError e) {
            failures.record(IoFailureLog.Kind.READING, e);
            repair();
            throw new IOException("a file of the local store was truncated while it was read", e);
        }
    }

    /** A removal from the store; {@link #run} returns true if it removed something. */
    public interface Removal {
        boolean run() throws IOException;
    }

    /** Runs a removal; returns false if it failed. */
    public boolean remove(Removal removal) {
        try {
            return throwPendingFault(removal.run());
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.REMOVING, e);
            return false;
        }
    }

    /** Repairs the store as far as possible. */
    public void repair() {
        try {
            store.repair();
            MappingFault.throwPending();
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.ACCOUNTING, e);
        }
    }
}
