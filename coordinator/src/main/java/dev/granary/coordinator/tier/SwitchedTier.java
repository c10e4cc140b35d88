package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * The local tier with a capacity that changes at run time. With the capacity 0 this process neither
 * reads nor writes entries, and those of the directory stay: other processes use them. Opened with
 * the capacity 0 it has no directory, and stays off.
 */
public final class SwitchedTier implements Tier {
    private static final String CAUSE = "the local tier is switched off: its capacity is 0";

    private final @Nullable LocalTier directory;
    private final @Nullable Tier tier; // that of the directory
    private volatile boolean isOff;

    /** Creates the local tier of a directory, or one that stays off. */
    SwitchedTier(@Nullable LocalTier directory) {
        this.directory = directory;
        this.tier = directory == null ? null : new CacheTier(Tiers.LOCAL, directory, true);
    }

    @Override
    public String name() {
        return Tiers.LOCAL;
    }

    /** Loads an entry; unavailable if switched off, so that its upload, if any, stays pending. */
    @Override
    public LoadResult load(List<Id> ids, Deadline deadline) {
        if (tier == null) {
            return LoadResult.ABSENT;
        }
        return isOff ? new LoadResult.Unavailable(CAUSE) : tier.load(ids, deadline);
    }

    @Override
    public StoreResult store(Entry entry) {
        return tier == null || isOff
                ? new StoreResult.Refused(StoreResult.Scope.STORE, CAUSE)
                : tier.store(entry);
    }

    @Override
    public void discard(Entry entry) {
        if (tier != null && !isOff) {
            tier.discard(entry);
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
        if (tier != null) {
            tier.close();
        }
    }
}
