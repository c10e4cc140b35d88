package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Register;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * The packs of a target by one read of its head, with the indexes read so far. Thread-safe.
 *
 * <p>It is replaced as a whole by that of the next read.
 */
final class PackView {
    private final Optional<Register.Stored> head;
    private final Optional<Base> base;
    private final String failure;
    private final RefreshSchedule.Moment confirmedAt;
    private final List<PackInfo> packs;
    private final Map<ObjectName, PackIndex> indexes = new ConcurrentHashMap<>();
    private final Map<ObjectName, ReentrantLock> locks = new ConcurrentHashMap<>();
    private final Set<ObjectName> lost = ConcurrentHashMap.newKeySet();

    /**
     * Creates a view.
     *
     * @param head the head; empty if there is none, or it is not known
     * @param base the base of the head; empty if it has none, or it is not known
     * @param failure the reason for which the packs are not all known; empty if they are
     * @param confirmedAt when the head was the newest one
     */
    PackView(
            Optional<Register.Stored> head,
            Optional<Base> base,
            String failure,
            RefreshSchedule.Moment confirmedAt) {
        this.head = head;
        this.base = base;
        this.failure = failure;
        this.confirmedAt = confirmedAt;
        this.packs = Stream.concat(
                        head.stream().flatMap(stored -> stored.head().recent().stream()),
                        base.stream().flatMap(folded -> folded.packs().stream()))
                .toList();
    }

    /** Takes over the indexes of an older view. */
    PackView withIndexesOf(PackView older) {
        packs.forEach(pack -> older.index(pack).ifPresent(index -> add(pack, index)));
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

    /** Returns the reason for which the packs are not all known; empty if they are. */
    String failure() {
        return failure;
    }

    boolean isKnown() {
        return failure.isEmpty();
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

    Optional<PackIndex> index(PackInfo pack) {
        return Optional.ofNullable(indexes.get(pack.name()));
    }

    void add(PackInfo pack, PackIndex index) {
        indexes.put(pack.name(), index);
    }

    /** Returns the lock under which the index of a pack is read, once for all lookups. */
    ReentrantLock lock(PackInfo pack) {
        return locks.computeIfAbsent(pack.name(), _ -> new ReentrantLock());
    }

    /** Returns true if the pack may have the id, and was not found lost. */
    boolean mayHave(PackInfo pack, Sha256 id) {
        return pack.mayContain(id) && !lost.contains(pack.name());
    }

    /** Records that a pack is missing; it is tried again after the next comparison of the head. */
    void markLost(PackInfo pack) {
        lost.add(pack.name());
    }

    /** Takes over the missing packs of an older view, for which the head was just read again. */
    void addLossesOf(PackView older) {
        lost.addAll(older.lost);
    }
}
