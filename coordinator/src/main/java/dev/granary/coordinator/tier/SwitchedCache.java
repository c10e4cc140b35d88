package dev.granary.coordinator.tier;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;

import org.jspecify.annotations.Nullable;

/**
 * The local tier with a capacity that changes at run time. With the capacity 0 this process neither
 * reads nor writes entries, and those of the directory stay: other processes use them. Opened with
 * the capacity 0 it has no directory, and stays off.
 */
public final class SwitchedCache implements PersistentCache {
    private static final String CAUSE = "the local tier is switched off: its capacity is 0";

    private final @Nullable LocalTier directory;
    private final boolean recordsUse;
    private volatile boolean isOff;

    /**
     * Creates the local tier of a directory.
     *
     * @param directory the directory; null for a tier that stays off
     * @param recordsUse false for loads that change nothing
     */
    SwitchedCache(@Nullable LocalTier directory, boolean recordsUse) {
        this.directory = directory;
        this.recordsUse = recordsUse;
    }

    /** Loads an entry; unavailable if switched off, so that its upload, if any, stays pending. */
    @Override
    public LoadResult load(Id id) {
        if (directory == null) {
            return LoadResult.ABSENT;
        }
        if (isOff) {
            return new LoadResult.Unavailable(CAUSE);
        }
        return recordsUse
                ? directory.load(id)
                : directory.read(new EntryCatalog.Listed(id.target().path(), id.hash(), 0, 0));
    }

    @Override
    public StoreResult store(Entry entry) {
        return directory == null || isOff
                ? new StoreResult.Refused(StoreResult.Scope.STORE, CAUSE)
                : directory.store(entry);
    }

    @Override
    public void discard(Entry entry) {
        if (directory != null && !isOff) {
            directory.discard(entry);
        }
    }

    /** Returns the capacity in bytes; 0 if switched off. */
    public long capacity() {
        return directory == null || isOff ? 0 : directory.capacityBytes();
    }

    /** Changes the capacity, as {@code Granary.setLocalCapacity} states. */
    public synchronized void setCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "The capacity of the local tier is " + bytes + ", but should be 0 or more");
        }
        if (bytes > 0) {
            if (directory == null) {
                throw new IllegalStateException("There is no local tier, since this cache was"
                        + " opened with the capacity 0, or its directory cannot be used; open"
                        + " another one with a capacity");
            }
            directory.setCapacity(bytes);
        }
        isOff = bytes == 0;
    }

    @Override
    public void close() {
        if (directory != null) {
            directory.close();
        }
    }
}
