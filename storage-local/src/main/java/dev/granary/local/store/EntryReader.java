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
import org.jspecify.annotations.Nullable;

/**
 * Finds and reads entries: from the index to a verified copy, without a lock. What changes meanwhile shows as something that does not verify,
 * and is then looked up again. Thread-safe.
 */
public final class EntryReader {
    private static final int ATTEMPTS = 4;
    private static final int MICROS = 1000; // in a millisecond
    private static final int PREFIX_BYTES = 16 << 10;
    private static final LoadResult.Damaged GONE = new LoadResult.Damaged(DamageKind.TRUNCATED, "the segment that it lay in is gone");
    private static final LoadResult.Damaged CUT = new LoadResult.Damaged(DamageKind.TRUNCATED, "the segment was cut while it was read");
    private static final LoadResult.Damaged NOWHERE = new LoadResult.Damaged(DamageKind.CORRUPT, "the index leads nowhere");

    private final Function<Id, Sha256> naming;

    public EntryReader(Function<Id, Sha256> naming) {
        this.naming = naming;
    }

    /**
     * What was found for an id.
     *
     * @param index where it was found
     * @param slot in which slot; -1 where it was not
     * @param location where it lies
     * @param result what was read there
     */
    public record Place(@Nullable EntryIndex index, int slot, long location, LoadResult result) {
        public static final Place NONE = new Place(null, -1, 0, LoadResult.ABSENT);
    }

    long tag(Id id) {
        return EntryIndex.tag(naming.apply(id).prefix());
    }

    /**
     * Looks an entry up, into {@code memory}; null stands for memory that the garbage collector gives back. Other ids with the same mark are passed over. Of several damaged places, the first.
     *
     * @throws IOException if the store cannot be read
     */
    public Place find(OpenStoreFiles files, Id id, @Nullable Arena memory) throws IOException {
        return find(files, tag(id), files.index(), memory, bytes -> EntryFormat.decode(bytes, id, VerificationLevel.CHECKSUMS),
                damaged -> damaged.damage() != DamageKind.WRONG_KEY, id);
    }

    private interface Decoder {
        LoadResult decode(MemorySegment bytes);
    }

    private Place find(OpenStoreFiles files, long tag, EntryIndex first, @Nullable Arena memory, Decoder decoder, Predicate<LoadResult.Damaged> isMine,
            @Nullable Id id) throws IOException {
        EntryIndex index = first;
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            long replacements = files.state().get(StatePage.REPLACEMENTS);
            Place damaged = Place.NONE;
            boolean changed = false;
            for (int probe = index.next(tag, 0); probe >= 0 && !changed; probe = index.next(tag, probe + 1)) {
                int slot = index.slot(tag, probe);
                long location = index.location(slot);
                LoadResult result = location == 0 ? LoadResult.ABSENT : read(files, location, index.units(slot), memory, decoder);
                if (result instanceof LoadResult.Hit) {
                    return new Place(index, slot, location, result);
                }
                changed = index.location(slot) != location || index.tagOf(slot) != tag || files.index() != index;
                if (!changed && result instanceof LoadResult.Damaged bad && damaged.slot() < 0
                        && (isMine.test(bad) || !isAnothers(files, index, slot, id, memory))) {
                    damaged = new Place(index, slot, location, result);
                }
            }
            if (!changed && (damaged.slot() >= 0 || files.state().get(StatePage.REPLACEMENTS) == replacements)) {
                return damaged; // else what was looked for may have gone to a slot that the probe had passed
            }
            index = files.index();
        }
        return Place.NONE; // changed each time: it is not there now
    }

    /** Reads what lies at a location and has it judged. */
    private static LoadResult read(OpenStoreFiles files, long location, long units, @Nullable Arena memory, Decoder decoder) throws IOException {
        if (!EntryLocation.isLocation(location)) {
            return NOWHERE;
        }
        SegmentFile segment;
        try {
            segment = files.segments().get(EntryLocation.segment(location));
        } catch (NoSuchFileException e) {
            return GONE;
        }
        long offset = EntryLocation.offset(location);
        try {
            return decoder.decode(segment.copy(offset, length(segment, offset, units), memory));
        } catch (SegmentFile.CutException e) {
            files.segments().drop(segment); // a sweep cuts off what left the index; whatever else is left is to be mapped anew
            return CUT;
        }
    }

    /** The entry's own word for its length where it fits the index, else what the index says: the decoder finds the difference. */
    private static long length(SegmentFile segment, long offset, long units) {
        long stated = segment.statedLength(offset);
        return stated > 0 && EntryLocation.units(stated) == units ? stated : Math.min(units * EntryLocation.UNIT, EntryFormat.MAX_BYTES);
    }

    /** True where the slot has a sound entry of another id, which has the same mark by right. */
    boolean isAnothers(OpenStoreFiles files, EntryIndex index, int slot, @Nullable Id id, @Nullable Arena memory) throws IOException {
        return read(files, index.location(slot), index.units(slot), memory, EntryReader::decode) instanceof LoadResult.Hit other
                && tag(other.entry().id()) == index.tagOf(slot) && !Objects.equals(other.entry().id(), id);
    }

    /** False where what lies at the slot's location is no entry with the slot's mark. Another version's entry is one, as far as can be told. */
    public boolean isItsOwn(OpenStoreFiles files, EntryIndex index, int slot) {
        try (Arena memory = Arena.ofConfined()) {
            return switch (read(files, index.location(slot), index.units(slot), memory, EntryReader::decode)) {
                case LoadResult.Hit hit -> tag(hit.entry().id()) == index.tagOf(slot);
                case LoadResult.Damaged bad -> bad.damage() == DamageKind.TOO_NEW || bad.damage() == DamageKind.TOO_OLD;
                case LoadResult.Absent _, LoadResult.Unavailable _ -> true;
            };
        } catch (IOException e) {
            return true; // cannot be told
        }
    }

    private static LoadResult decode(MemorySegment bytes) {
        return EntryFormat.decode(bytes, VerificationLevel.CHECKSUMS);
    }

    /** Reads an entry by its name. */
    public Place find(OpenStoreFiles files, EntryCatalog.Listed listed, @Nullable Arena memory) throws IOException {
        return find(files, EntryIndex.tag(listed.hash().prefix()), files.index(), memory, bytes -> {
            LoadResult result = decode(bytes);
            return result instanceof LoadResult.Hit hit && !isListed(hit.entry().id(), listed)
                    ? new LoadResult.Damaged(DamageKind.WRONG_KEY, "a sound entry, but of another id")
                    : result;
        }, damaged -> damaged.damage() != DamageKind.WRONG_KEY, null);
    }

    /** True where a place still has what was listed: as long, and not used since. */
    public static boolean isStill(OpenStoreFiles files, Place place, EntryCatalog.Listed listed) throws IOException {
        EntryIndex index = place.index();
        return index != null && index.usedMicros(place.slot()) / MICROS == listed.lastUsedMillis()
                && lengthAt(files, place.location(), index.units(place.slot())) == listed.bytes();
    }

    private boolean isListed(Id id, EntryCatalog.Listed listed) {
        return naming.apply(id).equals(listed.hash()) && id.target().path().equals(listed.namespace());
    }

    /** Hands over every entry of the index; for one whose key cannot be read, with the part of the name that the index knows. */
    public void list(OpenStoreFiles files, Consumer<EntryCatalog.Listed> visitor) throws IOException {
        EntryIndex index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0) {
                long tag = index.tagOf(slot);
                long units = index.units(slot);
                Optional<Id> id = EntryLocation.isLocation(location) ? readId(files, location, units) : Optional.empty();
                if (index.location(slot) == location) {
                    visitor.accept(new EntryCatalog.Listed(
                            id.map(known -> known.target().path()).orElse(EntryCatalog.Listed.UNKNOWN_NAMESPACE),
                            id.map(naming).filter(hash -> EntryIndex.tag(hash.prefix()) == tag).orElseGet(() -> withPrefix(tag)),
                            lengthAt(files, location, units), index.usedMicros(slot) / MICROS));
                }
            }
        }
    }

    private static Sha256 withPrefix(long tag) {
        return Sha256.ofDigest(ByteBuffer.allocate(Sha256.BYTES).putLong(tag).array());
    }

    private static long lengthAt(OpenStoreFiles files, long location, long units) throws IOException {
        try {
            return EntryLocation.isLocation(location)
                    ? length(files.segments().get(EntryLocation.segment(location)), EntryLocation.offset(location), units)
                    : units * EntryLocation.UNIT;
        } catch (NoSuchFileException e) {
            return units * EntryLocation.UNIT;
        }
    }

    private static Optional<Id> readId(OpenStoreFiles files, long location, long units) throws IOException {
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
        } catch (SegmentFile.CutException e) {
            files.segments().drop(segment);
            return Optional.empty();
        }
    }
}
