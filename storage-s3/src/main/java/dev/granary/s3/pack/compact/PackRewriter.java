package dev.granary.s3.pack.compact;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.PackRange;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * Writer of new packs from the sound entries of old packs and unpacked entries. For one thread and
 * one use.
 *
 * <p>Memory holds one range that is being read, and one pack under construction.
 */
final class PackRewriter {
    private static final long RANGE_BYTES = 8 << 20;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackWriter writer;
    private final RandomGenerator random;
    private final LongConsumer progress;
    private final List<PackInfo> written = new ArrayList<>();
    private final Set<Sha256> moved = new HashSet<>();
    private final Set<Sha256> missing = new HashSet<>();
    private PackBuilder open;
    private long bytesRead;
    private long packed;
    private LeftEntries left = LeftEntries.NONE;

    PackRewriter(
            ObjectStore store,
            TargetLayout keys,
            PackWriter writer,
            RandomGenerator random,
            LongConsumer progress) {
        this.store = store;
        this.keys = keys;
        this.writer = writer;
        this.random = random;
        this.progress = progress;
        this.open = new PackBuilder(keys.namespace(), random);
    }

    /** Thrown when a pack cannot be written; ends the compaction and never leaves it. */
    static final class PackWriteException extends Exception {
        private final transient StoreFailure failure;

        PackWriteException(StoreFailure failure) {
            super(failure.toString(), null, false, false);
            this.failure = failure;
        }

        StoreFailure failure() {
            return failure;
        }
    }

    /** Returns the new packs, in the bucket. */
    List<PackInfo> written() {
        return written;
    }

    /** Returns the old packs whose sound entries have all moved. */
    Set<Sha256> moved() {
        return moved;
    }

    /** Returns the entries that were to move from a pack and are missing or damaged there. */
    Set<Sha256> missing() {
        return missing;
    }

    /** Returns the number of entries in new packs. */
    long packed() {
        return packed;
    }

    /** Returns the entries that were left where they are. */
    LeftEntries left() {
        return left;
    }

    /**
     * Passes each location to {@code sound} or {@code unsound}; to neither if it cannot be read
     * now.
     */
    void check(
            PackInfo pack,
            List<PackLocation> locations,
            Consumer<PackLocation> sound,
            Consumer<PackLocation> unsound) {
        for (PackRange range : PackRange.of(pack, locations, RANGE_BYTES)) {
            switch (read(range)) {
                case GetResult.Found found ->
                    range.locations().forEach(location -> (isSound(
                                            slice(found.bytes(), range, location), location)
                                    ? sound
                                    : unsound)
                            .accept(location));
                case GetResult.Absent _, GetResult.TooLarge _ ->
                    range.locations().forEach(unsound);
                case GetResult.Unavailable _ -> {}
            }
        }
    }

    /**
     * Moves the live entries of a pack. The pack is retained if a range of it cannot be read now.
     */
    void moveLive(CompactionPlan.OldPack old) throws PackWriteException {
        if (moveAll(old.pack(), old.live())) {
            moved.add(old.pack().name());
        }
    }

    /** Moves the missing entries of which this pack has a duplicate. */
    void moveDuplicates(CompactionPlan.OldPack old) throws PackWriteException {
        Predicate<PackLocation> isMissing = location -> missing.contains(location.id());
        if (!moveAll(old.pack(), old.duplicates().stream().filter(isMissing).toList())) {
            moved.remove(old.pack().name());
        }
    }

    /** Moves the sound entries at these locations; returns false if one cannot be read now. */
    private boolean moveAll(PackInfo pack, List<PackLocation> locations) throws PackWriteException {
        boolean isWhole = true;
        for (PackRange range : PackRange.of(pack, locations, RANGE_BYTES)) {
            List<PackLocation> unsound =
                    switch (read(range)) {
                        case GetResult.Found found -> moveSound(range, found.bytes());
                        case GetResult.Absent _, GetResult.TooLarge _ -> range.locations();
                        case GetResult.Unavailable _ -> {
                            left = left.plusUnread(range.locations().size());
                            isWhole = false;
                            yield List.of();
                        }
                    };
            for (PackLocation location : unsound) {
                isWhole &= reread(pack, location);
            }
        }
        return isWhole;
    }

    /** Moves the sound entries of a range; returns the locations of the others. */
    private List<PackLocation> moveSound(PackRange range, MemorySegment bytes)
            throws PackWriteException {
        List<PackLocation> unsound = new ArrayList<>();
        for (PackLocation location : range.locations()) {
            MemorySegment stored = slice(bytes, range, location);
            if (isSound(stored, location)) {
                append(location, stored);
            } else {
                unsound.add(location);
            }
        }
        return unsound;
    }

    /**
     * Reads an unsound entry again: one wrong response does not make it missing. Returns false if
     * it cannot be read now.
     */
    private boolean reread(PackInfo pack, PackLocation location) throws PackWriteException {
        switch (store.range(keys.pack(pack.name()), location.offset(), location.length())) {
            case GetResult.Found found
            when isSound(found.bytes(), location) -> append(location, found.bytes());
            case GetResult.Found _, GetResult.Absent _, GetResult.TooLarge _ ->
                missing.add(location.id());
            case GetResult.Unavailable _ -> {
                left = left.plusUnread(1);
                return false;
            }
        }
        return true;
    }

    private void append(PackLocation location, MemorySegment stored) throws PackWriteException {
        missing.remove(location.id());
        add(location.id(), stored, location.compileNanos());
    }

    /**
     * Adds an entry that is in no pack yet.
     *
     * @param encoded the whole encoded entry, which fits into a pack
     */
    void addNew(Entry entry, byte[] encoded) throws PackWriteException {
        add(
                entry.id().hash(),
                MemorySegment.ofArray(encoded),
                entry.compileTime().toNanos());
    }

    /** Adds an unpacked entry to a pack. One wrong response does not make it damaged. */
    void addUnpacked(UnpackedEntry entry) throws PackWriteException {
        GetResult result = store.get(entry.key(), PackIndex.MAX_ENTRY_BYTES);
        if (result instanceof GetResult.Found first
                && !(decoded(first.bytes(), entry.id()) instanceof LoadResult.Hit)) {
            result = store.get(entry.key(), PackIndex.MAX_ENTRY_BYTES);
        }
        switch (result) {
            case GetResult.Found found -> addUnpacked(entry, found.bytes());
            case GetResult.Absent _ -> left = left.plusGone();
            case GetResult.TooLarge _ -> left = left.plusTooLarge(1);
            case GetResult.Unavailable _ -> left = left.plusUnread(1);
        }
        bytesRead += entry.bytes();
        progress.accept(bytesRead);
    }

    private void addUnpacked(UnpackedEntry entry, MemorySegment stored) throws PackWriteException {
        switch (decoded(stored, entry.id())) {
            case LoadResult.Hit(Entry sound) -> {
                missing.remove(entry.id());
                add(entry.id(), stored, sound.compileTime().toNanos());
            }
            case LoadResult.Damaged bad
            when isOfOtherVersion(bad) -> left = left.plusOtherVersion();
            case LoadResult.Damaged _, LoadResult.Absent _, LoadResult.Unavailable _ ->
                left = left.plusDamaged(entry.key());
        }
    }

    private static boolean isOfOtherVersion(LoadResult.Damaged bad) {
        return bad.damage() == DamageKind.TOO_NEW || bad.damage() == DamageKind.TOO_OLD;
    }

    /** Writes the pack under construction, if it has any entry. */
    void finish() throws PackWriteException {
        if (open.size() == 0) {
            return;
        }
        Pack pack = open.build();
        open = new PackBuilder(keys.namespace(), random);
        if (writer.write(pack, keys) instanceof PackWriter.Written.Failed failed) {
            throw new PackWriteException(failed.failure());
        }
        written.add(pack.info());
    }

    private void add(Sha256 id, MemorySegment stored, long compileNanos) throws PackWriteException {
        open.add(id, stored.toArray(ValueLayout.JAVA_BYTE), compileNanos);
        packed++;
        if (open.isFull()) {
            finish();
        }
    }

    private GetResult read(PackRange range) {
        GetResult result =
                store.range(keys.pack(range.pack().name()), range.offset(), range.length());
        bytesRead += range.length();
        progress.accept(bytesRead);
        return result;
    }

    private static MemorySegment slice(
            MemorySegment bytes, PackRange range, PackLocation location) {
        long at = Math.min(location.offset() - range.offset(), bytes.byteSize());
        return bytes.asSlice(at, Math.min(location.length(), bytes.byteSize() - at));
    }

    /**
     * Returns true for an intact entry of that id. If another version of Granary wrote it, the
     * checksum in the index decides.
     */
    private boolean isSound(MemorySegment stored, PackLocation location) {
        return switch (decoded(stored, location.id())) {
            case LoadResult.Hit _ -> true;
            case LoadResult.Damaged bad
            when isOfOtherVersion(bad) ->
                PackIndex.crc(stored.toArray(ValueLayout.JAVA_BYTE), 0, (int) stored.byteSize())
                        == location.checksum();
            case LoadResult.Damaged _, LoadResult.Absent _, LoadResult.Unavailable _ -> false;
        };
    }

    private LoadResult decoded(MemorySegment stored, Sha256 id) {
        return keys.checkId(EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), id);
    }
}
