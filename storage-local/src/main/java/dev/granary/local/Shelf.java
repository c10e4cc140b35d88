package dev.granary.local;

import dev.granary.cache.Catalog;
import dev.granary.cache.Damage;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.Verification;
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
final class Shelf {
    private static final int ATTEMPTS = 4;
    private static final int MICROS = 1000; // in a millisecond
    private static final int PREFIX_BYTES = 16 << 10;
    private static final LoadResult.Damaged GONE = new LoadResult.Damaged(Damage.TRUNCATED, "the segment that it lay in is gone");
    private static final LoadResult.Damaged CUT = new LoadResult.Damaged(Damage.TRUNCATED, "the segment was cut while it was read");
    private static final LoadResult.Damaged NOWHERE = new LoadResult.Damaged(Damage.CORRUPT, "the index leads nowhere");

    private final Function<Id, Sha256> naming;

    Shelf(Function<Id, Sha256> naming) {
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
    record Place(@Nullable Index index, int slot, long location, LoadResult result) {
        static final Place NONE = new Place(null, -1, 0, LoadResult.ABSENT);
    }

    long tag(Id id) {
        return Index.tag(naming.apply(id).prefix());
    }

    /**
     * Looks an entry up, into {@code memory}; null stands for memory that the garbage collector gives back. Other ids with the same mark are passed over. Of several damaged places, the first.
     *
     * @throws IOException if the store cannot be read
     */
    Place find(StoreFiles files, Id id, @Nullable Arena memory) throws IOException {
        return find(files, tag(id), files.index(), memory, bytes -> EntryFormat.decode(bytes, id, Verification.CHECKSUMS),
                damaged -> damaged.damage() != Damage.WRONG_KEY, id);
    }

    private interface Decoder {
        LoadResult decode(MemorySegment bytes);
    }

    private Place find(StoreFiles files, long tag, Index first, @Nullable Arena memory, Decoder decoder, Predicate<LoadResult.Damaged> isMine,
            @Nullable Id id) throws IOException {
        Index index = first;
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            long replacements = files.state().get(State.REPLACEMENTS);
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
            if (!changed && (damaged.slot() >= 0 || files.state().get(State.REPLACEMENTS) == replacements)) {
                return damaged; // else what was looked for may have gone to a slot that the probe had passed
            }
            index = files.index();
        }
        return Place.NONE; // changed each time: it is not there now
    }

    /** Reads what lies at a location and has it judged. */
    private static LoadResult read(StoreFiles files, long location, long units, @Nullable Arena memory, Decoder decoder) throws IOException {
        if (!Tail.isLocation(location)) {
            return NOWHERE;
        }
        Segment segment;
        try {
            segment = files.segments().get(Tail.segment(location));
        } catch (NoSuchFileException e) {
            return GONE;
        }
        long offset = Tail.offset(location);
        try {
            return decoder.decode(segment.copy(offset, length(segment, offset, units), memory));
        } catch (Segment.CutException e) {
            files.segments().drop(segment); // a sweep cuts off what left the index; whatever else is left is to be mapped anew
            return CUT;
        }
    }

    /** The entry's own word for its length where it fits the index, else what the index says: the decoder finds the difference. */
    private static long length(Segment segment, long offset, long units) {
        long stated = segment.statedLength(offset);
        return stated > 0 && Tail.units(stated) == units ? stated : Math.min(units * Tail.UNIT, EntryFormat.MAX_BYTES);
    }

    /** True where the slot has a sound entry of another id, which has the same mark by right. */
    boolean isAnothers(StoreFiles files, Index index, int slot, @Nullable Id id, @Nullable Arena memory) throws IOException {
        return read(files, index.location(slot), index.units(slot), memory, Shelf::decode) instanceof LoadResult.Hit other
                && tag(other.entry().id()) == index.tagOf(slot) && !Objects.equals(other.entry().id(), id);
    }

    /** False where what lies at the slot's location is no entry with the slot's mark. Another version's entry is one, as far as can be told. */
    boolean isItsOwn(StoreFiles files, Index index, int slot) {
        try (Arena memory = Arena.ofConfined()) {
            return switch (read(files, index.location(slot), index.units(slot), memory, Shelf::decode)) {
                case LoadResult.Hit hit -> tag(hit.entry().id()) == index.tagOf(slot);
                case LoadResult.Damaged bad -> bad.damage() == Damage.TOO_NEW || bad.damage() == Damage.TOO_OLD;
                case LoadResult.Absent _, LoadResult.Unavailable _ -> true;
            };
        } catch (IOException e) {
            return true; // cannot be told
        }
    }

    private static LoadResult decode(MemorySegment bytes) {
        return EntryFormat.decode(bytes, Verification.CHECKSUMS);
    }

    /** Reads an entry by its name. */
    Place find(StoreFiles files, Catalog.Listed listed, @Nullable Arena memory) throws IOException {
        return find(files, Index.tag(listed.hash().prefix()), files.index(), memory, bytes -> {
            LoadResult result = decode(bytes);
            return result instanceof LoadResult.Hit hit && !isListed(hit.entry().id(), listed)
                    ? new LoadResult.Damaged(Damage.WRONG_KEY, "a sound entry, but of another id")
                    : result;
        }, damaged -> damaged.damage() != Damage.WRONG_KEY, null);
    }

    /** True where a place still has what was listed: as long, and not used since. */
    static boolean isStill(StoreFiles files, Place place, Catalog.Listed listed) throws IOException {
        Index index = place.index();
        return index != null && index.usedMicros(place.slot()) / MICROS == listed.lastUsedMillis()
                && lengthAt(files, place.location(), index.units(place.slot())) == listed.bytes();
    }

    private boolean isListed(Id id, Catalog.Listed listed) {
        return naming.apply(id).equals(listed.hash()) && id.target().path().equals(listed.namespace());
    }

    /** Hands over every entry of the index; for one whose key cannot be read, with the part of the name that the index knows. */
    void list(StoreFiles files, Consumer<Catalog.Listed> visitor) throws IOException {
        Index index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0) {
                long tag = index.tagOf(slot);
                long units = index.units(slot);
                Optional<Id> id = Tail.isLocation(location) ? readId(files, location, units) : Optional.empty();
                if (index.location(slot) == location) {
                    visitor.accept(new Catalog.Listed(
                            id.map(known -> known.target().path()).orElse(Catalog.Listed.UNKNOWN_NAMESPACE),
                            id.map(naming).filter(hash -> Index.tag(hash.prefix()) == tag).orElseGet(() -> withPrefix(tag)),
                            lengthAt(files, location, units), index.usedMicros(slot) / MICROS));
                }
            }
        }
    }

    private static Sha256 withPrefix(long tag) {
        return Sha256.ofDigest(ByteBuffer.allocate(Sha256.BYTES).putLong(tag).array());
    }

    private static long lengthAt(StoreFiles files, long location, long units) throws IOException {
        try {
            return Tail.isLocation(location)
                    ? length(files.segments().get(Tail.segment(location)), Tail.offset(location), units)
                    : units * Tail.UNIT;
        } catch (NoSuchFileException e) {
            return units * Tail.UNIT;
        }
    }

    private static Optional<Id> readId(StoreFiles files, long location, long units) throws IOException {
        Segment segment;
        try {
            segment = files.segments().get(Tail.segment(location));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        try {
            long offset = Tail.offset(location);
            long length = length(segment, offset, units);
            for (long part = Math.min(PREFIX_BYTES, length); ; part = length) {
                try (Arena memory = Arena.ofConfined()) {
                    Optional<Id> id = EntryFormat.readId(segment.copy(offset, part, memory));
                    if (id.isPresent() || part == length) {
                        return id;
                    }
                }
            }
        } catch (Segment.CutException e) {
            files.segments().drop(segment);
            return Optional.empty();
        }
    }
}
