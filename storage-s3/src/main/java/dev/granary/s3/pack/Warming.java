package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.Verification;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Reads the packs of one target in large parts, several at a time, and hands on every entry, verified. Thread-safe.
 *
 * <p>In memory are at most {@value #WORKERS} parts, each at most {@value #MAX_PART_BYTES} bytes, a gap and one entry long.
 */
public final class Warming {
    /** How many parts are under way at once. */
    static final int WORKERS = 8;

    private static final int MIN_PART_BYTES = 8 << 20;
    private static final int MAX_PART_BYTES = 16 << 20;

    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;

    Warming(ObjectStore store, PackKeys keys, IndexShelf shelf) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
    }

    /** Takes what is read. Called by several threads at once. */
    public interface Receiver {
        /**
         * An entry was read and is sound.
         *
         * @param entry the entry; its binaries are good until this call returns
         * @param stored the encoded entry, of which {@code entry} is made
         */
        void entry(Entry entry, MemorySegment stored);

        /**
         * Entries could not be had.
         *
         * @param cause why, for people
         */
        void skipped(int entries, long bytes, String cause);

        /** So many bytes have come. */
        void received(long bytes);
    }

    /** What is to be read. Immutable. */
    public static final class Plan {
        private final List<Part> parts;
        private final List<LostPack> lost;
        private final long present;

        private Plan(List<Part> parts, List<LostPack> lost, long present) {
            this.parts = List.copyOf(parts);
            this.lost = List.copyOf(lost);
            this.present = present;
        }

        /** How many entries are wanted and in a pack. */
        public long entries() {
            return parts.stream().mapToLong(part -> part.places().size()).sum();
        }

        /** How many bytes will come, with what lies between the entries. */
        public long bytes() {
            return parts.stream().mapToLong(Part::length).sum();
        }

        /** How many entries are in a pack and not wanted. */
        public long present() {
            return present;
        }

        /** Packs that cannot be read. */
        public List<LostPack> lost() {
            return lost;
        }
    }

    /**
     * A pack that cannot be read.
     *
     * @param name its name
     * @param entries how many entries it has, by the manifest
     * @param bytes its length, by the manifest
     * @param cause why, for people
     */
    public record LostPack(Sha256 name, int entries, long bytes, String cause) {}

    /** Reads the indexes of all packs of {@code manifest}, from the disk where they are kept there, and plans what to read. */
    public Plan plan(Manifest manifest, Predicate<Sha256> wanted) {
        long partBytes = Math.clamp(manifest.bytes() / (2L * WORKERS), MIN_PART_BYTES, MAX_PART_BYTES);
        Set<Sha256> seen = new HashSet<>();
        List<Part> parts = new ArrayList<>();
        List<LostPack> lost = new ArrayList<>();
        long present = 0;
        for (PackInfo pack : manifest.packs()) {
            switch (TargetPacks.fetchIndex(pack, keys, shelf, store)) {
                case TargetPacks.Indexed.Ok ok -> {
                    List<Place> ours = ok.index().places().stream().filter(place -> seen.add(place.id())).toList(); // else an older pack has it
                    List<Place> missing = ours.stream().filter(place -> wanted.test(place.id())).toList();
                    present += ours.size() - missing.size();
                    parts.addAll(Part.of(pack, missing, partBytes));
                }
                case TargetPacks.Indexed.Lost gone -> lost.add(new LostPack(pack.name(), pack.entries(), pack.bytes(), gone.cause()));
                case TargetPacks.Indexed.Unsaid unsaid ->
                    lost.add(new LostPack(pack.name(), pack.entries(), pack.bytes(), unsaid.failure().toString()));
            }
        }
        shelf.keep(manifest);
        return new Plan(parts, lost, present);
    }

    /**
     * Reads what was planned. What cannot be read or is not sound is told and left out. Nothing is handed on after this returns.
     *
     * @throws InterruptedException if the caller was interrupted: the rest is neither read nor told
     */
    public void run(Plan plan, Receiver receiver) throws InterruptedException {
        int longest = plan.parts.stream().mapToInt(Part::length).max().orElse(0);
        Crew.run(WORKERS, plan.parts, () -> {
            byte[] memory = new byte[longest]; // the same for all parts that this thread reads: new memory is slower than the network
            return part -> read(part, memory, receiver);
        });
    }

    private void read(Part part, byte[] memory, Receiver receiver) {
        switch (store.range(keys.pack(part.pack().name()), part.offset(), part.length(), memory)) {
            case GetResult.Found found -> {
                receiver.received(found.bytes().byteSize());
                for (Place place : part.places()) {
                    if (Thread.currentThread().isInterrupted()) {
                        return;
                    }
                    unpack(place, part, found.bytes(), receiver);
                }
            }
            case GetResult.Absent _ -> skip(part, "the pack is not there any more", receiver);
            case GetResult.TooLarge _ -> skip(part, "the server sent more than was asked for", receiver);
            case GetResult.Unavailable lost -> skip(part, lost.failure().toString(), receiver);
        }
    }

    private void unpack(Place place, Part part, MemorySegment bytes, Receiver receiver) {
        long at = place.offset() - part.offset();
        if (place.length() > bytes.byteSize() - at) {
            receiver.skipped(1, place.length(), "the pack is shorter than its index says");
            return;
        }
        MemorySegment stored = bytes.asSlice(at, place.length());
        switch (EntryFormat.decode(stored, Verification.CONTENT_HASH)) {
            case LoadResult.Hit(Entry entry) when isInItsPlace(entry, place) -> receiver.entry(entry, stored);
            case LoadResult.Hit _ -> receiver.skipped(1, place.length(), "a sound entry, in the place of another id");
            case LoadResult.Damaged bad -> receiver.skipped(1, place.length(), "damaged: " + bad.detail());
            case LoadResult.Absent _, LoadResult.Unavailable _ -> throw new IllegalStateException("Decoding ends in a hit or damage");
        }
    }

    private boolean isInItsPlace(Entry entry, Place place) {
        return entry.id().hash().equals(place.id()) && entry.id().target().path().equals(keys.namespace());
    }

    private static void skip(Part part, String cause, Receiver receiver) {
        receiver.skipped(part.places().size(), part.length(), cause);
    }
}
