package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A manifest, the pack indexes that were needed so far, and what proved wrong since it was read. Replaced as a whole with the next manifest.
 * Thread-safe.
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

    /** Whether the bucket, or this machine's disk, has ever told what there is. */
    private enum State { KNOWN, UNKNOWN }

    TargetPackState(PackManifest manifest) {
        this(manifest, State.KNOWN);
    }

    private TargetPackState(PackManifest manifest, State state) {
        this.manifest = manifest;
        this.state = state;
    }

    /** What is known before the bucket has ever answered: nothing. */
    static TargetPackState unknown() {
        return new TargetPackState(PackManifest.NONE, State.UNKNOWN);
    }

    boolean isKnown() {
        return state == State.KNOWN;
    }

    PackManifest manifest() {
        return manifest;
    }

    /** The last moment at which the manifest was the newest one. Kept with it: a newer one has another. */
    RefreshSchedule.Moment confirmedAt() {
        return confirmedAt;
    }

    /** Notes that the manifest was the newest one at that moment. */
    void setConfirmedAt(RefreshSchedule.Moment at) {
        confirmedAt = at;
    }

    /** The catalogue of a newer manifest, with the indexes that are still good. */
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

    /** The same, and it still knows which packs are lost: it is asked for in the middle of a look-up that has just found out. */
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

    /** True where the pack may have the id: its filter says so, and neither the pack has proved to be missing, nor the entry in it to be damaged. */
    boolean mayHave(PackInfo pack, Sha256 id) {
        return pack.filter().mayContain(id) && !lostPacks.contains(pack.name()) && !damaged.contains(new DamagedEntry(pack.name(), id));
    }

    /** Remembers that a pack is not there, or not what it should be. */
    void markLost(PackInfo pack) {
        lostPacks.add(pack.name());
    }

    boolean hasLostPack() {
        return !lostPacks.isEmpty();
    }

    /** Remembers that what a pack has for the id is damaged. */
    void markDamaged(PackInfo pack, Sha256 id) {
        damaged.add(new DamagedEntry(pack.name(), id));
        damagedIds.add(id);
    }

    /** Remembers that a pack is in the bucket with its full length: a process that has no index of it can read it. */
    void markWhole(PackInfo pack) {
        wholePacks.add(pack.name());
    }

    boolean isWhole(PackInfo pack) {
        return wholePacks.contains(pack.name());
    }

    /** True where an id that no pack has is not outside of packs either. One that proved wrong in a pack may have been published again. */
    boolean isSurelyAbsent(Sha256 id) {
        return manifest.unpackedEntries() == PackManifest.UnpackedEntries.NONE && !damagedIds.contains(id)
                && manifest.packs().stream().noneMatch(pack -> lostPacks.contains(pack.name()) && pack.filter().mayContain(id));
    }
}
