package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;

import java.util.List;

/**
 * A store below the memory tier, as lookups use it: the local tier or a layer. Decorators add
 * limits, checks and counters. No method throws because of the state of a store. Thread-safe.
 */
public interface Tier extends AutoCloseable {
    /** Returns {@code local}, or the name of the layer. */
    String name();

    /**
     * Loads the entry of the first id that has one. All ids are one load.
     *
     * @param ids the ids of the same inputs in one or several namespaces, in the order of the
     *     search; not empty
     * @param deadline the end of the caller's wait
     * @return the hit, else the failure that ended the search, else the miss of the first id
     */
    LoadResult load(List<Id> ids, Deadline deadline);

    StoreResult store(Entry entry);

    /** Removes an entry that was loaded here and proved unusable. */
    void discard(Entry entry);

    /** Records that an entry of this tier was used, and saved a compile. */
    default void used(Entry entry) {}

    @Override
    void close();
}
