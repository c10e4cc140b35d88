package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Register;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * The packs of a target by one read of its head, with the indexes read so far. Thread-safe.
 *
 * <p>It is replaced as a whole by that of the next read.
 */
final class PackView {
    /** The largest number of entries of all indexes in memory, in 224 MiB. */
    private static final int MAX_ENTRIES = 16 * PackInfo.MAX_ENTRIES;

    private final Optional<Register.Stored> head;
    private final Optional<Base> base;
    private final LoadResult otherwise;
    private final RefreshSchedule.Moment confirmedAt;
    private final List<PackInfo> packs;
    private final Map<ObjectName, IndexResult> indexes = new ConcurrentHashMap<>();
    private final AtomicInteger entries = new AtomicInteger(); // of the indexes
    private final Map<ObjectName, ReentrantLock> locks = new ConcurrentHashMap<>();

    /**
     * Creates a view.
     *
     * @param head the head; empty if there is none, or it is not known
     * @param base the base of the head; empty if it has none, or it is not known
     * @param otherwise the result for an id that none of these packs has: absent, unless there may
     *     be further packs
     * @param confirmedAt when the head was the newest one
     */
    PackView(
            Optional<Register.Stored> head,
            Optional<Base> base,
            LoadResult otherwise,
            RefreshSchedule.Moment confirmedAt) {
        this.head = head;
        this.base = base;
        this.otherwise = otherwise;
        this.confirmedAt = confirmedAt;
        this.packs = Stream.concat(
                        head.stream().flatMap(stored -> stored.head().recent().stream()),
                        base.stream().flatMap(folded -> folded.packs().stream()))
                .toList();
    }

    /** Takes over the indexes of an older view, but not its losses. */
    PackView withIndexesOf(PackView older) {
        packs.forEach(pack -> older.index(pack)
                .filter(IndexResult.Ok.class::isInstance)
                .ifPresent(index -> add(pack, index)));
        return this;
    }

    Optional<Register.Stored> head() {
        return head;
    }

    Optional<Base> base() {
        return base;
    }

    /** Returns all packs in the order in which readers try them: recent ones first. */
    List<PackInfo> packs() {
        return packs;
    }

    /** Returns the result for an id that none of these packs has. */
    LoadResult otherwise() {
        return otherwise;
    }

    /** Returns false if a read of the head or base may show further packs. */
    boolean isKnown() {
        return !(otherwise instanceof LoadResult.Unavailable);
    }

    RefreshSchedule.Moment confirmedAt() {
        return confirmedAt;
    }

    /**
     * Returns true if both have the same head and base, so that a lookup finds nothing else in this
     * one.
     */
    boolean hasHeadOf(PackView other) {
        return isKnown() == other.isKnown()
                && base.isPresent() == other.base.isPresent()
                && head.map(Register.Stored::etag).equals(other.head.map(Register.Stored::etag));
    }

    /** Returns the index of a pack, or its loss; empty if neither is known. */
    Optional<IndexResult> index(PackInfo pack) {
        return Optional.ofNullable(indexes.get(pack.name()));
    }

    /**
     * Records the index of a pack, or its loss until the next comparison of the head. Forgets other
     * indexes if there are too many entries.
     */
    void add(PackInfo pack, IndexResult index) {
        if (index instanceof IndexResult.Ok && entries.addAndGet(pack.entries()) > MAX_ENTRIES) {
            indexes.values().removeIf(IndexResult.Ok.class::isInstance);
            entries.set(pack.entries());
        }
        indexes.put(pack.name(), index);
    }

    /** Returns the lock under which the index of a pack is read, once for all lookups. */
    ReentrantLock lock(PackInfo pack) {
        return locks.computeIfAbsent(pack.name(), _ -> new ReentrantLock());
    }

    /** Returns true if the pack was found missing, or its index damaged. */
    boolean isLost(PackInfo pack) {
        return indexes.get(pack.name()) instanceof IndexResult.Lost;
    }

    /** Takes over the lost packs of an older view, for which the head was just read again. */
    void addLossesOf(PackView older) {
        older.indexes.forEach((name, index) -> {
            if (index instanceof IndexResult.Lost) {
                indexes.put(name, index);
            }
        });
    }
}
