package dev.granary.coordinator.tier;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;

import java.util.Optional;

/**
 * The local tier with a capacity that changes at run time. With the capacity 0 this process neither
 * reads nor writes entries, and those of the directory stay: other processes use them. Opened with
 * the capacity 0 it has no directory, and stays off.
 */
public final class SwitchedCache implements PersistentCache {
    private static final String CAUSE = "the local tier is switched off: its capacity is 0";

    private final Optional<LocalTier> directory;
    private final boolean recordsUse;
    private volatile boolean isOff;

    /**
     * Creates the local tier of a directory.
     *
     * @param directory the directory; empty for a tier that stays off
     * @param recordsUse false for loads that change nothing
     */
    SwitchedCache(Optional<LocalTier> directory, boolean recordsUse) {
        this.directory = directory;
        this.recordsUse = recordsUse;
    }

    private Optional<LocalTier> used() {
        return isOff ? Optional.empty() : directory;
    }

    /** Loads an entry; unavailable if switched off, so that its upload, if any, stays pending. */
    @Override
    public LoadResult load(Id id) {
        if (isOff) {
            return new LoadResult.Unavailable(CAUSE);
        }
        if (directory.isEmpty()) {
            return LoadResult.ABSENT;
        }
        return recordsUse
                ? directory.get().load(id)
                : directory
                        .get()
                        .read(new EntryCatalog.Listed(id.target().path(), id.hash(), 0, 0));
    }

    @Override
    public StoreResult store(Entry entry) {
        return used().map(tier -> tier.store(entry))
                .orElseGet(() -> new StoreResult.Refused(StoreResult.Scope.STORE, CAUSE));
    }

    @Override
    public void discard(Entry entry) {
        used().ifPresent(tier -> tier.discard(entry));
    }

    /** Returns the capacity in bytes; 0 if switched off. */
    public long capacity() {
        return used().map(LocalTier::capacityBytes).orElse(0L);
    }

    /** Changes the capacity, as {@code Granary.setLocalCapacity} states. */
    public synchronized void setCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "The capacity of the local tier is " + bytes + ", but should be 0 or more");
        }
        if (bytes > 0) {
            directory
                    .orElseThrow(() -> new IllegalStateException("There is no local tier, since"
                            + " this cache was opened with the capacity 0, or its directory cannot"
                            + " be used; open another one with a capacity"))
                    .setCapacity(bytes);
        }
        isOff = bytes == 0;
    }

    @Override
    public void close() {
        directory.ifPresent(LocalTier::close);
    }
}
