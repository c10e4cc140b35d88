package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A manifest, the pack indexes read so far, and the damage found since it was read. Replaced as a
 * whole by that of the next manifest. Thread-safe.
 */
final class TargetPackState {
    private final PackManifest manifest;
    private final Map<Sha256, PackIndex> indexes = new ConcurrentHashMap<>();
    private final Set<Sha256> lostPacks = ConcurrentHashMap.newKeySet();
    private final Set<DamagedEntry> damaged = ConcurrentHashMap.newKeySet();
    private final Set<Sha256> damagedIds = ConcurrentHashMap.newKeySet();
    private final Set<Sha256> wholePacks = ConcurrentHashMap.newKeySet();
    private volatile RefreshSchedule.Moment confirmedAt = RefreshSchedule.Moment.NEVER;

    /** An entry that is damaged in a pack. */
    private record DamagedEntry(Sha256 pack, Sha256 id) {}

    private final State state;

    /** Whether a manifest was ever read from the bucket or the local disk. */
    private enum State {
        KNOWN,
        UNKNOWN
    }

    TargetPackState(PackManifest manifest) {
        this(manifest, State.KNOWN);
    }

    private TargetPackState(PackManifest manifest, State state) {
        this.manifest = manifest;
        this.state = state;
    }

    /** Returns the state before a manifest was read. */
    static TargetPackState unknown() {
        return new TargetPackState(PackManifest.NONE, State.UNKNOWN);
    }

    boolean isKnown() {
        return state == State.KNOWN;
    }

    PackManifest manifest() {
        return manifest;
    }

    /** Returns the last moment at which the manifest was the newest one. */
    RefreshSchedule.Moment confirmedAt() {
        return confirmedAt;
    }

    /** Records that the manifest was the newest one at that moment. */
    void setConfirmedAt(RefreshSchedule.Moment at) {
        confirmedAt = at;
    }

    /** Returns the state of a newer manifest, with the indexes that are still valid. */
    TargetPackState next(PackManifest newer) {
        TargetPackState next = new TargetPackState(newer);
        for (PackInfo pack : newer.packs()) {
            PackIndex known = indexes.get(pack.name());
            if (known != null) {
                next.indexes.put(pack.name(), known);
            }
        }
        return next;
    }

    /**
     * Returns the state of a newer manifest, with the lost packs as well: the lookup that has just
     * found them goes on.
     */
    TargetPackState nextWithLostPacks(PackManifest newer) {
        TargetPackState next = next(newer);
        next.lostPacks.addAll(lostPacks);
        return next;
    }

    Optional<PackIndex> index(PackInfo pack) {
        return Optional.ofNullable(indexes.get(pack.name()));
    }

    void add(PackInfo pack, PackIndex index) {
        indexes.put(pack.name(), index);
    }

    /**
     * Returns true if the pack may have the id by its filter, and was not found lost, nor the entry
     * in it damaged.
     */
    boolean mayHave(PackInfo pack, Sha256 id) {
        return pack.filter().mayContain(id)
                && !lostPacks.contains(pack.name())
                && !damaged.contains(new DamagedEntry(pack.name(), id));
    }

    /** Records that a pack is missing, or not the one that the manifest names. */
    void markLost(PackInfo pack) {
        lostPacks.add(pack.name());
    }

    boolean hasLostPack() {
        return !lostPacks.isEmpty();
    }

    /** Records that the entry of the id in a pack is damaged. */
    void markDamaged(PackInfo pack, Sha256 id) {
        damaged.add(new DamagedEntry(pack.name(), id));
        damagedIds.add(id);
    }

    /**
     * Records that a pack is in the bucket with its full length, so that a process without its
     * index can read it.
     */
    void markWhole(PackInfo pack) {
        wholePacks.add(pack.name());
    }

    boolean isWhole(PackInfo pack) {
        return wholePacks.contains(pack.name());
    }

    /**
     * Returns true if an id that no pack has is absent. An entry that was damaged in a pack may
     * have been published again.
     */
    boolean isSurelyAbsent(Sha256 id) {
        return manifest.unpackedEntries() == PackManifest.UnpackedEntries.NONE
                && !damagedIds.contains(id)
                && manifest.packs().stream()
                        .noneMatch(pack ->
                                lostPacks.contains(pack.name()) && pack.filter().mayContain(id));
    }
}
