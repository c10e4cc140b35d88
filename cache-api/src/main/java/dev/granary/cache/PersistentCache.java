package dev.granary.cache;

import java.lang.foreign.Arena;

/**
 * A store of entries that outlives the process. Anyone can implement it;
 * {@code PersistentCacheContract} in this module's test jar is the suite that an implementation
 * must pass. {@code Granary.builder()} plugs one in: {@code docs/plug.md}.
 *
 * <p><b>Guarantees.</b>
 *
 * <ul>
 *   <li>A hit is fully verified. The id was compared byte for byte, every checksum matched, and the
 *       binaries are those of some {@code store} for this id, in their order. Anything else is
 *       {@link LoadResult.Damaged} or {@link LoadResult.Absent}.
 *   <li>An entry becomes visible atomically, to this process and to every other process that uses
 *       the store. Two concurrent stores of one id leave one of the two entries, never a mixture.
 *   <li>After {@link StoreResult.Stored} or {@link StoreResult.Duplicate}, a load finds an entry of
 *       that id until the store evicts or loses it. As in any cache, this may happen at any time.
 *   <li>Storing an entry with the same content writes nothing and returns {@code Duplicate}. If the
 *       content differs, the store either keeps the first entry ({@code Divergent}) or replaces it
 *       as a whole ({@code Stored}).
 *   <li>The next store of an id replaces a damaged entry of that id.
 *   <li>No method throws because of the content or state of the store. A full disk, a missing
 *       directory and a silent server are results. Only programming errors throw: a null, or a call
 *       after {@link #close()} ({@link IllegalStateException}).
 *   <li>No method waits without bound. The implementation documents its bound.
 * </ul>
 *
 * <p><b>Not guaranteed.</b> Order between entries, notification of eviction, durability across a
 * power failure.
 *
 * <p><b>Threads.</b> All methods may be called concurrently by any number of threads.
 */
public interface PersistentCache extends AutoCloseable {
    /**
     * Loads an entry.
     *
     * @param id the id of the entry; not empty
     * @return the verified entry or the kind of miss
     */
    LoadResult load(Id id);

    /**
     * Loads an entry for a caller that waits until {@code deadline}. A store that needs several
     * steps, such as requests, begins none after it; one that is under way ends by its own limits.
     *
     * @param deadline the end of the caller's wait
     * @return as {@link #load(Id)}
     */
    default LoadResult load(Id id, Deadline deadline) {
        return load(id);
    }

    /**
     * Loads an entry that is used only until {@code memory} is closed. A store that copies the
     * entry allocates the copy from {@code memory}. Callers that need the binaries briefly, for
     * example to verify or forward them, can reuse that memory for the next lookup.
     * {@link #load(Id)} allocates new memory, which the garbage collector frees later.
     *
     * @param id the id of the entry; not empty
     * @param memory the arena for the copy; the entry must not be used after it is closed, nor by a
     *     thread that cannot access it
     * @return as {@link #load(Id)}
     */
    default LoadResult load(Id id, Arena memory) {
        return load(id);
    }

    /**
     * Stores an entry.
     *
     * @param entry the entry to store
     * @return the outcome
     */
    StoreResult store(Entry entry);

    /**
     * Removes an entry that was loaded here and proved unusable, for example because the driver
     * rejects it. Only this content is removed: a newer entry of the same id stays. A shared store
     * may decline, so that one broken machine cannot empty it.
     *
     * @param entry the entry as returned by {@link #load}
     */
    void discard(Entry entry);

    /**
     * Releases the resources of this process. Stored entries stay. Further calls of {@code close}
     * have no effect.
     */
    @Override
    void close();
}
