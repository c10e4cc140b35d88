package dev.granary.s3.pack.compact;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.PackRange;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.LongConsumer;

/**
 * Moves entries of packs and unpacked entries into a spool. For one thread.
 *
 * <p>Bytes of a pack whose checksum fits are moved, never judged. An entry is lost only if its
 * whole pack was read and is not the one that its name says, or the pack does not exist. Whatever
 * else cannot be read stops the compaction.
 */
final class EntryMover {
    private static final long RANGE_BYTES = 8 << 20;

    /**
     * The largest number of packs with losses that one run drops: many at once are rather a fault
     * of the server.
     */
    private static final int MAX_LOSSY = 1;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final EntrySpool spool;
    private final LongConsumer progress;
    private long bytesRead;

    final Map<Sha256, Redundant> redundant = new LinkedHashMap<>();
    final List<String> damagedKeys = new ArrayList<>();
    final Set<String> lossyPacks = new LinkedHashSet<>();
    long lost;
    long unread;
    long otherVersion;
    long gone;

    /** An unpacked entry with the same bytes as the copy in a pack. */
    record Redundant(UnpackedEntry entry, PackInfo pack, PackLocation location) {}

    EntryMover(ObjectStore store, TargetLayout keys, EntrySpool spool, LongConsumer progress) {
        this.store = store;
        this.keys = keys;
        this.spool = spool;
        this.progress = progress;
    }

    /**
     * Returns the index of a pack that has none, from the whole pack; empty if the pack is lost.
     *
     * @throws CompactionException if the bucket does not report it
     */
    static Optional<PackIndex> salvageIndex(PackInfo pack, TargetLayout keys, ObjectStore store)
            throws CompactionException {
        Optional<byte[]> whole = whole(pack, keys, store).filter(bytes -> isSound(bytes, pack));
        if (whole.isEmpty()) {
            return Optional.empty();
        }
        if (whole.get().length == pack.bytes()) {
            byte[] index =
                    Arrays.copyOfRange(whole.get(), (int) pack.indexOffset(), whole.get().length);
            if (PackIndexReader.decode(index, pack, keys) instanceof IndexResult.Ok ok) {
                return Optional.of(ok.index());
            }
        }
        throw unfit(pack);
    }

    private static boolean isSound(byte[] whole, PackInfo pack) {
        return Sha256.of(whole).equals(pack.name().hash());
    }

    /** Returns the exception of a sound pack that this version cannot use. */
    private static CompactionException unfit(PackInfo pack) {
        return new CompactionException(
                "the index of pack " + pack.name() + " does not fit the pack");
    }

    /** Reads a whole pack; empty if it does not exist. */
    private static Optional<byte[]> whole(PackInfo pack, TargetLayout keys, ObjectStore store)
            throws CompactionException {
        String key = keys.pack(pack.name());
        return switch (store.get(key, PackInfo.MAX_BYTES)) {
            case GetResult.Found found -> Optional.of(found.bytes().toArray(ValueLayout.JAVA_BYTE));
            case GetResult.Absent _ -> {
                boolean[] isListed = {false};
                if (store.head(key) instanceof HeadResult.Absent
                        && store.list(key, _ -> isListed[0] = true) instanceof ListResult.Complete
                        && !isListed[0]) {
                    yield Optional.empty();
                }
                throw new CompactionException(
                        "it is not clear whether pack " + pack.name() + " exists");
            }
            case GetResult.TooLarge _ ->
                throw new CompactionException("pack " + pack.name() + " is too large to be one");
            case GetResult.Unavailable unavailable ->
                throw new CompactionException(
                        "pack " + pack.name() + " cannot be read: " + unavailable.failure());
        };
    }

    /** Moves an unpacked entry, unless the pack from which readers take it has the same bytes. */
    void moveUnpacked(UnpackedEntry entry, Optional<PackInfo> pack, Optional<PackLocation> packed)
            throws IOException {
        GetResult result = store.get(entry.key(), PackIndex.MAX_ENTRY_BYTES);
        read(entry.bytes());
        switch (result) {
            case GetResult.Found found -> {
                byte[] stored = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                UnpackedEntry version =
                        new UnpackedEntry(entry.id(), entry.key(), stored.length, found.etag());
                if (packed.isPresent() && fits(stored, packed.get())) {
                    redundant.put(entry.id(), new Redundant(version, pack.get(), packed.get()));
                } else {
                    moveSound(version, stored);
                }
            }
            case GetResult.Absent _ -> gone++;
            case GetResult.TooLarge _, GetResult.Unavailable _ -> unread++;
        }
    }

    private void moveSound(UnpackedEntry entry, byte[] stored) throws IOException {
        switch (keys.checkId(
                EntryFormat.decode(MemorySegment.ofArray(stored), VerificationLevel.CONTENT_HASH),
                entry.id())) {
            case LoadResult.Hit(Entry sound) ->
                spool.add(entry.id(), stored, TimeUnit.NANOSECONDS.convert(sound.compileTime()));
            case LoadResult.Damaged bad
            when bad.damage() == DamageKind.TOO_NEW || bad.damage() == DamageKind.TOO_OLD ->
                otherVersion++;
            case LoadResult.Damaged bad when bad.damage() == DamageKind.TOO_LARGE -> unread++;
            case LoadResult.Damaged _, LoadResult.Absent _, LoadResult.Unavailable _ ->
                damagedKeys.add(entry.key());
        }
    }

    /**
     * Moves all entries of a pack, except those that are left out or that another pack keeps.
     *
     * @return false if the pack must stay
     */
    boolean movePack(CompactionPlan plan, PackInfo pack) throws CompactionException, IOException {
        Set<Sha256> kept = keptElsewhere(plan, pack);
        List<PackLocation> locations = plan.locations(pack).stream()
                .filter(one -> !plan.without.contains(one.id())
                        && !spool.contains(one.id())
                        && !kept.contains(one.id()))
                .toList();
        Map<Sha256, byte[]> found = new HashMap<>();
        List<PackLocation> missing = new ArrayList<>();
        for (PackRange range : PackRange.of(pack, locations, RANGE_BYTES)) {
            found.clear();
            readRange(range, (location, bytes) -> found.put(location.id(), bytes));
            for (PackLocation location : range.locations()) {
                byte[] bytes = found.get(location.id());
                if (bytes == null) {
                    missing.add(location);
                } else {
                    spool.add(location.id(), bytes, location.compileNanos());
                }
            }
        }
        return missing.isEmpty() || salvage(pack, missing);
    }

    /** Returns the ids in a pack of which a pack that stays has a sound copy, just read. */
    private Set<Sha256> keptElsewhere(CompactionPlan plan, PackInfo pack)
            throws CompactionException {
        Map<PackInfo, List<PackLocation>> copies = new LinkedHashMap<>();
        for (PackLocation location : plan.locations(pack)) {
            PackInfo holder = plan.first.get(location.id());
            if (holder != null && holder != pack && !plan.sources.contains(holder)) {
                plan.find(holder, location.id())
                        .ifPresent(copy -> copies.computeIfAbsent(holder, _ -> new ArrayList<>())
                                .add(copy));
            }
        }
        Set<Sha256> kept = new HashSet<>();
        for (Map.Entry<PackInfo, List<PackLocation>> one : copies.entrySet()) {
            kept.addAll(sound(one.getKey(), one.getValue()));
        }
        return kept;
    }

    /** Returns the ids of these entries of a pack that are sound, by reading them. */
    Set<Sha256> sound(PackInfo pack, List<PackLocation> locations) throws CompactionException {
        Set<Sha256> sound = new HashSet<>();
        for (PackRange range : PackRange.of(pack, locations, RANGE_BYTES)) {
            readRange(range, (location, _) -> sound.add(location.id()));
        }
        return sound;
    }

    /** Returns true if a pack that was just written can be read, by one entry or as a whole. */
    boolean isReadable(PackInfo pack, PackLocation one) throws CompactionException {
        return !sound(pack, List.of(one)).isEmpty()
                || whole(pack, keys, store)
                        .filter(bytes -> isSound(bytes, pack))
                        .isPresent();
    }

    /** Passes on the entries of a range whose checksum fits. */
    private void readRange(PackRange range, BiConsumer<PackLocation, byte[]> receiver)
            throws CompactionException {
        GetResult result =
                store.range(keys.pack(range.pack().name()), range.offset(), range.length());
        read(range.length());
        switch (result) {
            case GetResult.Found found -> {
                byte[] bytes = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                for (PackLocation location : range.locations()) {
                    slice(bytes, location.offset() - range.offset(), location)
                            .ifPresent(entry -> receiver.accept(location, entry));
                }
            }
            case GetResult.Absent _, GetResult.TooLarge _ -> {}
            case GetResult.Unavailable unavailable
            when unavailable.failure().isTransient() || unavailable.failure().isUnsent() ->
                throw new CompactionException("pack " + range.pack().name() + " cannot be read: "
                        + unavailable.failure());
            case GetResult.Unavailable _ -> {} // the whole pack decides
        }
    }

    private static Optional<byte[]> slice(byte[] bytes, long at, PackLocation location) {
        if (location.length() > bytes.length - at) {
            return Optional.empty();
        }
        byte[] entry = Arrays.copyOfRange(bytes, (int) at, (int) at + location.length());
        return Optional.of(entry).filter(read -> fits(read, location));
    }

    private static boolean fits(byte[] entry, PackLocation location) {
        return entry.length == location.length()
                && PackIndex.crc(entry, 0, entry.length) == location.checksum();
    }

    /**
     * Moves entries from the whole pack, after ranges of it had other bytes.
     *
     * @return false if the pack must stay, since the run has had its losses
     */
    private boolean salvage(PackInfo pack, List<PackLocation> missing)
            throws CompactionException, IOException {
        Optional<byte[]> whole = whole(pack, keys, store);
        read(pack.bytes());
        long lostHere = 0;
        for (PackLocation location : missing) {
            Optional<byte[]> entry =
                    whole.flatMap(bytes -> slice(bytes, location.offset(), location));
            if (entry.isPresent()) {
                spool.add(location.id(), entry.get(), location.compileNanos());
            } else if (!redundant.containsKey(location.id())) { // else the unpacked one stays
                lostHere++;
            }
        }
        if (lostHere > 0 && whole.isPresent() && isSound(whole.get(), pack)) {
            throw unfit(pack);
        }
        return lostHere == 0 || recordLoss(pack, lostHere);
    }

    /** Counts lost entries; returns false if the run has had its losses, so that they stay. */
    boolean recordLoss(PackInfo pack, long entries) {
        lossyPacks.add(pack.name().toString());
        if (lossyPacks.size() > MAX_LOSSY) {
            return false;
        }
        lost += entries;
        return true;
    }

    private void read(long bytes) {
        bytesRead += bytes;
        progress.accept(bytesRead);
    }
}
