package dev.granary.coordinator.stores;

import dev.granary.cache.Entry;
import dev.granary.cache.EvictionListener;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;

/**
 * The local tier with a capacity that changes at run time. With the capacity 0 this process neither
 * reads nor writes entries, and those of the directory stay: other processes use them. Thread-safe.
 */
final class ResizableLocalTier implements PersistentCache {
    private static final String CAUSE = "the local tier is switched off: its capacity is 0";

    private final LocalTier tier;
    private volatile boolean isOff;

    ResizableLocalTier(LocalTier tier) {
        this.tier = tier;
    }

    long capacity() {
        return isOff ? 0 : tier.capacityBytes();
    }

    /** Changes the capacity; a lower one than the usage evicts at once, unless it is 0. */
    synchronized void setCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "The capacity of the local tier is " + bytes + ", but should be 0 or more");
        }
        if (bytes > 0) {
            tier.setCapacity(bytes);
        }
        isOff = bytes == 0;
    }

    void setEvictionListener(EvictionListener listener) {
        tier.setEvictionListener(listener);
    }

    /** Loads an entry; unavailable if switched off, so that its upload, if any, stays pending. */
    @Override
    public LoadResult load(Id id) {
        return isOff ? new LoadResult.Unavailable(CAUSE) : tier.load(id);
    }

    @Override
    public StoreResult store(Entry entry) {
        return isOff ? new StoreResult.Refused(StoreResult.Scope.STORE, CAUSE) : tier.store(entry);
    }

    @Override
    public void discard(Entry entry) {
        if (!isOff) {
            tier.discard(entry);
        }
    }

    @Override
    public void close() {
        tier.close();
    }
}
