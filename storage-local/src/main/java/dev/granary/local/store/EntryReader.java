package dev.granary.local.store;

import dev.granary.cache.DamageKind;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StatePage;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Reader of entries: from the index to a verified copy, without a lock. An entry that changes
 * during the read fails the verification and is looked up again. Thread-safe.
 */
public final class EntryReader {
    private static final int ATTEMPTS = 4;
    private static final int MICROS_PER_MILLI = 1000;
    private static final int PREFIX_BYTES = 16 << 10;
    private static final LoadResult.Damaged MISSING =
            new LoadResult.Damaged(DamageKind.TRUNCATED, "its segment is missing");
    private static final LoadResult.Damaged TRUNCATED_SEGMENT = new LoadResult.Damaged(
            DamageKind.TRUNCATED, "its segment was truncated while it was read");
    private static final LoadResult.Damaged INVALID_LOCATION =
            new LoadResult.Damaged(DamageKind.CORRUPT, "its location in the index is invalid");

    private final Function<Id, Sha256> hashing;

    public EntryReader(Function<Id, Sha256> hashing) {
        this.hashing = hashing;
    }

    /**
     * Result of a lookup in the index.
     *
     * @param index the index of the slot, or null if nothing was found
     * @param slot the slot, or -1 if nothing was found
     * @param location the location of the entry
     * @param result the outcome of reading that location
     */
    public record LocatedEntry(
            @Nullable EntryIndex index, int slot, long location, LoadResult result) {
        public static final LocatedEntry NONE = new LocatedEntry(null, -1, 0, LoadResult.ABSENT);
    }

    long tag(Id id) {
        return EntryIndex.tag(hashing.apply(id).prefix());
    }

    /**
     * Looks an entry up. Copies it into {@code memory}, or if that is null, into memory that the
     * garbage collector frees. Entries of other ids with the same tag are passed over. If several
     * slots have damaged entries, the first one is returned.
     *
     * @throws IOException if the store cannot be read
     */
    public LocatedEntry find(OpenStoreFiles files, Id id, @Nullable Arena memory)
            throws IOException {
        return find(
                files,
                tag(id),
                files.index(),
                memory,
                bytes -> EntryFormat.decode(bytes, id, VerificationLevel.CHECKSUMS),
                damaged -> damaged.damage() != DamageKind.WRONG_KEY,
                id);
    }

    /** Decoder of the bytes of one entry. */
    private interface Decoder {
        LoadResult decode(MemorySegment bytes);
    }

    private LocatedEntry find(
            OpenStoreFiles files,
            long tag,
            EntryIndex first,
            @Nullable Arena memory,
            Decoder decoder,
            Predicate<LoadResult.Damaged> isOfId,
            @Nullable Id id)
            throws IOException {
        EntryIndex index = first;
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            long replacements = files.state().get(StatePage.REPLACEMENTS);
            LocatedEntry damaged = LocatedEntry.NONE;
            boolean changed = false;
            for (int probe = index.next(tag, 0);
                    probe >= 0 && !changed;
                    probe = index.next(tag, probe + 1)) {
                int slot = index.slot(tag, probe);
                long location = index.location(slot);
                LoadResult result = location == 0
                        ? LoadResult.ABSENT
                        : read(files, location, index.units(slot), memory, decoder);
                if (result instanceof LoadResult.Hit) {
                    return new LocatedEntry(index, slot, location, result);
                }
                changed = index.location(slot) != location
                        || index.tagOf(slot) != tag
                        || files.index() != index;
                if (!changed
                        && result instanceof LoadResult.Damaged bad
                        && damaged.slot() < 0
                        && (isOfId.test(bad) || !isOfAnotherId(files, index, slot, id, memory))) {
                    damaged = new LocatedEntry(index, slot, location, result);
                }
            }
            if (!changed
                    && (damaged.slot() >= 0
                            || files.state().get(StatePage.REPLACEMENTS) == replacements)) {
                // otherwise the entry may have moved to a slot that the probe had passed
                return damaged;
            }
            index = files.index();
        }
        return LocatedEntry.NONE; // changed at each attempt: not present now
    }

    /** Reads the bytes at a location and decodes them. */
    private static LoadResult read(
            OpenStoreFiles files,
            long location,
            long units,
            @Nullable Arena memory,
            Decoder decoder)
            throws IOException {
        if (!EntryLocation.isLocation(location)) {
            return INVALID_LOCATION;
        }
        SegmentFile segment;
        try {
            segment = files.segments().get(EntryLocation.segment(location));
        } catch (NoSuchFileException e) {
            return MISSING;
        }
        long offset = EntryLocation.offset(location);
        try {
            return decoder.decode(segment.copy(offset, length(segment, offset, units), memory));
        } catch (SegmentFile.TruncatedException e) {
            // a sweep truncates removed entries; the rest of the segment must be mapped anew
            files.segments().drop(segment);
            return TRUNCATED_SEGMENT;
        }
    }

    /**
     * Returns the length that the entry states if it matches the index, otherwise the length in the
     * index: the decoder detects the difference.
     */
    private static long length(SegmentFile segment, long offset, long units) {
        long stated = segment.statedLength(offset);
        return stated > 0 && EntryLocation.units(stated) == units
                ? stated
                : Math.min(units * EntryLocation.UNIT, EntryFormat.MAX_BYTES);
    }

    /** Returns whether the slot has a sound entry of another id with the same tag. */
    boolean isOfAnotherId(
            OpenStoreFiles files,
            EntryIndex index,
            int slot,
            @Nullable Id id,
            @Nullable Arena memory)
            throws IOException {
        return read(files, index.location(slot), index.units(slot), memory, EntryReader::decode)
                        instanceof LoadResult.Hit other
                && tag(other.entry().id()) == index.tagOf(slot)
                && !Objects.equals(other.entry().id(), id);
    }

    /**
     * Returns whether the slot's location has an entry with the slot's tag. An entry of another
     * version counts as one.
     */
    public boolean matchesSlot(OpenStoreFiles files, EntryIndex index, int slot) {
        try (Arena memory = Arena.ofConfined()) {
            return switch (read(
                    files, index.location(slot), index.units(slot), memory, EntryReader::decode)) {
                case LoadResult.Hit hit -> tag(hit.entry().id()) == index.tagOf(slot);
                case LoadResult.Damaged bad ->
                    bad.damage() == DamageKind.TOO_NEW || bad.damage() == DamageKind.TOO_OLD;
                case LoadResult.Absent _, LoadResult.Unavailable _ -> true;
            };
        } catch (IOException e) {
            return true; // unknown
        }
    }

    private static LoadResult decode(MemorySegment bytes) {
        return EntryFormat.decode(bytes, VerificationLevel.CHECKSUMS);
    }

    /** Looks a listed entry up, as {@link #find(OpenStoreFiles, Id, Arena)} does. */
    public LocatedEntry find(
            OpenStoreFiles files, EntryCatalog.Listed listed, @Nullable Arena memory)
            throws IOException {
        return find(
                files,
                EntryIndex.tag(listed.hash().prefix()),
                files.index(),
                memory,
                bytes -> {
                    LoadResult result = decode(bytes);
                    return result instanceof LoadResult.Hit hit
                                    && !isListed(hit.entry().id(), listed)
                            ? new LoadResult.Damaged(
                                    DamageKind.WRONG_KEY, "a sound entry, but of another id")
                            : result;
                },
                damaged -> damaged.damage() != DamageKind.WRONG_KEY,
                null);
    }

    /**
     * Returns whether the located entry is still the listed one: of the same length, and not used
     * since.
     */
    public static boolean isUnchanged(
            OpenStoreFiles files, LocatedEntry located, EntryCatalog.Listed listed)
            throws IOException {
        EntryIndex index = located.index();
        return index != null
                && index.usedMicros(located.slot()) / MICROS_PER_MILLI == listed.lastUsedMillis()
                && lengthAt(files, located.location(), index.units(located.slot()))
                        == listed.bytes();
    }

    private boolean isListed(Id id, EntryCatalog.Listed listed) {
        return hashing.apply(id).equals(listed.hash())
                && id.target().path().equals(listed.namespace());
    }

    /**
     * Passes every entry of the index to {@code visitor}. An entry with an unreadable key has the
     * part of its digest that the index contains.
     */
    public void list(OpenStoreFiles files, Consumer<EntryCatalog.Listed> visitor)
            throws IOException {
        EntryIndex index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0) {
                long tag = index.tagOf(slot);
                long units = index.units(slot);
                Optional<Id> id = EntryLocation.isLocation(location)
                        ? readId(files, location, units)
                        : Optional.empty();
                if (index.location(slot) == location) {
                    visitor.accept(new EntryCatalog.Listed(
                            id.map(known -> known.target().path()).orElse("unknown/unknown"),
                            id.map(hashing)
                                    .filter(hash -> EntryIndex.tag(hash.prefix()) == tag)
                                    .orElseGet(() -> withPrefix(tag)),
                            lengthAt(files, location, units),
                            index.usedMicros(slot) / MICROS_PER_MILLI));
                }
            }
        }
    }

    private static Sha256 withPrefix(long tag) {
        return Sha256.ofDigest(ByteBuffer.allocate(Sha256.BYTES).putLong(tag).array());
    }

    private static long lengthAt(OpenStoreFiles files, long location, long units)
            throws IOException {
        try {
            return EntryLocation.isLocation(location)
                    ? length(
                            files.segments().get(EntryLocation.segment(location)),
                            EntryLocation.offset(location),
                            units)
                    : units * EntryLocation.UNIT;
        } catch (NoSuchFileException e) {
            return units * EntryLocation.UNIT;
        }
    }

    private static Optional<Id> readId(OpenStoreFiles files, long location, long units)
            throws IOException {
        SegmentFile segment;
        try {
            segment = files.segments().get(EntryLocation.segment(location));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        try {
            long offset = EntryLocation.offset(location);
            long length = length(segment, offset, units);
            for (long part = Math.min(PREFIX_BYTES, length); ; part = length) {
                try (Arena memory = Arena.ofConfined()) {
                    Optional<Id> id = EntryFormat.readId(segment.copy(offset, part, memory));
                    if (id.isPresent() || part == length) {
                        return id;
                    }
                }
            }
        } catch (SegmentFile.TruncatedException e) {
            files.segments().drop(segment);
            return Optional.empty();
        }
    }
}
