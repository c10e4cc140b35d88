package dev.granary.cache;

import java.lang.foreign.Arena;
import java.util.List;

/**
 * The plug: a place where entries outlive the process. Anyone can implement it; {@code PersistentCacheContract} in this module's test
 * jar is the suite that an implementation must pass.
 *
 * <p><b>What must hold.</b>
 * <ul>
 *   <li>A hit is the whole truth: the id was compared byte for byte, every checksum held, and the binaries are the ones that some
 *       {@code store} was given for this id, in their order. Anything less is {@link LoadResult.Damaged} or {@link LoadResult.Absent}.
 *   <li>An entry becomes visible at once and as a whole, to this process and to every other that uses the store. Two stores of one id
 *       at the same time leave one of the two entries, never a mixture.
 *   <li>After {@link StoreResult.Stored} or {@link StoreResult.Duplicate}, a load finds an entry of that id, until the store evicts or
 *       loses it. It may do so at any time: this is a cache.
 *   <li>Storing what is there with the same content writes nothing and answers {@code Duplicate}. With other content, the store either
 *       keeps the first ({@code Divergent}) or replaces it as a whole ({@code Stored}).
 *   <li>A damaged entry heals: the next store of its id replaces it.
 *   <li>No method throws because of what the store holds or does: a full disk, a missing directory, a silent server are results. Only a
 *       programming error throws: a null, or a call after {@link #close()} ({@link IllegalStateException}).
 *   <li>No method waits without bound. What the bound is, the implementation says.
 * </ul>
 *
 * <p><b>What is not promised.</b> No order between entries, no notice of eviction, no durability across a power cut.
 *
 * <p><b>Threads.</b> All methods may be called by any number of threads at once.
 */
public interface PersistentCache extends AutoCloseable {
    /**
     * Looks an entry up.
     *
     * @param id whose entry; not empty
     * @return the verified entry or the kind of miss
     */
    LoadResult load(Id id);

    /**
     * Looks an entry up for as long as {@code memory} lives: a store that copies an entry out takes the memory for it from there. For callers
     * that are done with the binaries soon, such as those that only verify or pass them on: the next look-up then gets the same memory
     * again, where {@link #load(Id)} must find new memory, which the garbage collector gives back at some time.
     *
     * @param id whose entry; not empty
     * @param memory where the entry may be kept; the entry must not be used after it was closed, nor by a thread that may not use it
     * @return as {@link #load(Id)}
     */
    default LoadResult load(Id id, Arena memory) {
        return load(id);
    }

    /**
     * Stores an entry.
     *
     * @param entry what to store
     * @return what became of it
     */
    StoreResult store(Entry entry);

    /**
     * Stores several entries, each as {@link #store} does. A store may do once for all of them what it would do for each.
     *
     * @param entries what to store
     * @return what became of each, in their order
     */
    default List<StoreResult> storeAll(List<Entry> entries) {
        return entries.stream().map(this::store).toList();
    }

    /**
     * Drops an entry that was read here and proved useless, such as one that the driver refuses. Only that very content is dropped: a
     * newer entry of the same id stays. A store that others share may decline, since one broken machine must not empty it.
     *
     * @param entry the entry as {@link #load} gave it
     */
    void discard(Entry entry);

    /** Frees what the store holds in this process. Stored entries stay. Further calls of {@code close} do nothing. */
    @Override
    void close();
}
