package dev.granary.s3.pack.warm;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.Crew;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackInfo;
import dev.granary.s3.pack.PackLocation;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackRange;
import dev.granary.s3.pack.StopListingException;
import dev.granary.s3.pack.TargetPackReader;
import dev.granary.s3.pack.UnpackedEntry;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;

/**
 * Reads the packs of one target in large parts, several at a time, and hands on every entry, verified. Thread-safe.
 *
 * <p>Entries that no pack has are read as well, where that is wanted, each with a request of its own.
 *
 * <p>In memory are at most {@value #WORKERS} parts, each at most {@value #MAX_PART_BYTES} bytes, a gap and one entry long, and for each what is
 * unpacked of it: at most {@value #HANDED_ON_BYTES} bytes and one entry.
 */
public final class BulkEntryReader {
    /** How many parts are under way at once. */
    static final int WORKERS = 8;

    /** How many entries that lie alone are under way at once, each with its own bytes in memory. */
    static final int WORKERS_ALONE = 32;

    private static final int MIN_PART_BYTES = 8 << 20;
    private static final int MAX_PART_BYTES = 16 << 20;
    private static final long HANDED_ON_BYTES = 2 << 20;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache shelf;
    private final int workers;
    private final int workersAlone;

    public BulkEntryReader(ObjectStore store, TargetLayout keys, PackIndexCache shelf) {
        this(store, keys, shelf, WORKERS, WORKERS_ALONE);
    }

    private BulkEntryReader(ObjectStore store, TargetLayout keys, PackIndexCache shelf, int workers, int workersAlone) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.workers = workers;
        this.workersAlone = workersAlone;
    }

    /** The same reading with one thread, which sends its requests in a fixed order. */
    BulkEntryReader inOneThread() {
        return new BulkEntryReader(store, keys, shelf, 1, 1);
    }

    /**
     * An entry that came and is sound.
     *
     * @param entry the entry
     * @param stored the encoded entry, of which {@code entry} is made
     */
    public record Arrival(Entry entry, MemorySegment stored) {}

    /** Takes what is read. Called by several threads at once. */
    public interface Receiver {
        /**
         * Entries were read and are sound: some of one part, or one that lies alone.
         *
         * @param arrivals the entries, at least one; their bytes are good until this call returns
         */
        void entries(List<Arrival> arrivals);

        /**
         * Entries could not be had.
         *
         * @param cause why, for people
         */
        void skipped(int entries, long bytes, String cause);

        /** So many bytes have come. */
        void received(long bytes);
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

    /** Which entries outside of packs are read, too. */
    public enum Alone {
        /** Those that no pack has: one listing, and a request for each. */
        READ,
        /** None. */
        LEAVE
    }

    /**
     * Reads the indexes of all packs of {@code manifest}, from the disk where they are kept there, and plans what to read.
     *
     * @param wanted by the hash of the id
     * @throws InterruptedException if the caller was interrupted
     */
    public BulkReadPlan plan(PackManifest manifest, Alone alone, Predicate<Sha256> wanted) throws InterruptedException {
        Map<Sha256, TargetPackReader.Indexed> indexes = new ConcurrentHashMap<>();
        Crew.run(workers, manifest.packs(),
                () -> pack -> indexes.put(pack.name(), TargetPackReader.fetchIndex(pack, keys, shelf, store)));
        shelf.keep(manifest);
        BulkReadPlan plan = new BulkReadPlan(Math.clamp(manifest.bytes() / (2L * WORKERS), MIN_PART_BYTES, MAX_PART_BYTES), wanted);
        for (PackInfo pack : manifest.packs()) {
            plan.add(pack, Objects.requireNonNull(indexes.get(pack.name())));
        }
        if (alone == Alone.READ && manifest.loose() != PackManifest.Loose.NONE) {
            String prefix = keys.loosePrefix();
            try {
                plan.listed(store.list(prefix, object -> UnpackedEntry.of(object, prefix).ifPresent(plan::add)));
            } catch (StopListingException e) {
                plan.isCut();
            }
        }
        return plan;
    }

    /**
     * Reads what was planned. What cannot be read or is not sound is told and left out. Nothing is handed on after this returns.
     *
     * @throws InterruptedException if the caller was interrupted: the rest is neither read nor told
     */
    public void run(BulkReadPlan plan, Receiver receiver) throws InterruptedException {
        Skipping skipping = new Skipping(plan, receiver);
        int longest = plan.parts().stream().mapToInt(PackRange::length).max().orElse(0);
        Crew.run(workers, plan.parts(), () -> {
            byte[] memory = new byte[longest]; // the same for all parts that this thread reads: new memory is slower than the network
            return part -> read(part, memory, receiver, skipping);
        });
        Crew.run(workersAlone, plan.alone(), () -> entry -> read(entry, receiver, skipping));
        Crew.run(workersAlone, List.copyOf(skipping.rescuable()), () -> skipped -> rescue(skipped, plan.spares(skipped.id()), receiver));
    }

    /** An entry that could not be had in the first place where it should be. */
    private record Skipped(Sha256 id, long bytes, String cause) {}

    /** Tells what could not be had; what has another copy is kept, to be looked for there. Thread-safe. */
    private record Skipping(BulkReadPlan plan, Receiver receiver, Queue<Skipped> rescuable) {
        Skipping(BulkReadPlan plan, Receiver receiver) {
            this(plan, receiver, new ConcurrentLinkedQueue<>());
        }

        void skip(Sha256 id, long bytes, String cause) {
            if (plan.spares(id).isEmpty()) {
                receiver.skipped(1, bytes, cause);
            } else {
                rescuable.add(new Skipped(id, bytes, cause));
            }
        }

        void skip(PackRange part, String cause) {
            List<PackLocation> lost = part.places().stream().filter(place -> plan.spares(place.id()).isEmpty()).toList();
            if (lost.size() == part.places().size()) {
                receiver.skipped(lost.size(), part.length(), cause);
                return;
            }
            part.places().forEach(place -> skip(place.id(), place.length(), cause));
        }
    }

    /** Reads the other copies of an entry, one after the other, until one is sound. */
    private void rescue(Skipped skipped, List<BulkReadPlan.Spare> spares, Receiver receiver) {
        for (BulkReadPlan.Spare spare : spares) {
            GetResult read = switch (spare) {
                case BulkReadPlan.Spare.InPack(PackInfo pack, PackLocation place) -> store.range(keys.pack(pack.name()), place.offset(), place.length());
                case BulkReadPlan.Spare.Alone(UnpackedEntry entry) -> store.get(entry.key(), EntryFormat.MAX_BYTES);
            };
            if (read instanceof GetResult.Found found) {
                receiver.received(found.bytes().byteSize());
                if (decoded(skipped.id(), found.bytes()) instanceof LoadResult.Hit(Entry entry)) {
                    receiver.entries(List.of(new Arrival(entry, found.bytes())));
                    return;
                }
            }
        }
        receiver.skipped(1, skipped.bytes(), skipped.cause());
    }

    private void read(UnpackedEntry entry, Receiver receiver, Skipping skipping) {
        switch (store.get(entry.key(), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found -> {
                receiver.received(found.bytes().byteSize());
                open(entry.id(), found.bytes(), skipping).ifPresent(arrival -> receiver.entries(List.of(arrival)));
            }
            case GetResult.Absent _ -> receiver.skipped(1, entry.bytes(), "it is not there any more");
            case GetResult.TooLarge _ -> receiver.skipped(1, entry.bytes(), "it is larger than an entry can be");
            case GetResult.Unavailable lost -> receiver.skipped(1, entry.bytes(), lost.failure().toString());
        }
    }

    private void read(PackRange part, byte[] memory, Receiver receiver, Skipping skipping) {
        switch (store.range(keys.pack(part.pack().name()), part.offset(), part.length(), memory)) {
            case GetResult.Found found -> {
                receiver.received(found.bytes().byteSize());
                handOn(part, found.bytes(), receiver, skipping);
            }
            case GetResult.Absent _ -> skipping.skip(part, "the pack is not there any more");
            case GetResult.TooLarge _ -> skipping.skip(part, "the server sent more than was asked for");
            case GetResult.Unavailable lost -> skipping.skip(part, lost.failure().toString());
        }
    }

    /** Some entries at a time: what was compressed takes memory of its own until it is handed on. */
    private void handOn(PackRange part, MemorySegment bytes, Receiver receiver, Skipping skipping) {
        List<Arrival> arrivals = new ArrayList<>();
        long waiting = 0;
        for (PackLocation place : part.places()) {
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
            Optional<Arrival> arrival = unpack(place, part, bytes, skipping);
            if (arrival.isPresent()) {
                arrivals.add(arrival.get());
                waiting += arrival.get().entry().binaries().byteSize();
            }
            if (waiting >= HANDED_ON_BYTES) {
                receiver.entries(List.copyOf(arrivals));
                arrivals.clear();
                waiting = 0;
            }
        }
        if (!arrivals.isEmpty()) {
            receiver.entries(arrivals);
        }
    }

    private Optional<Arrival> unpack(PackLocation place, PackRange part, MemorySegment bytes, Skipping skipping) {
        long at = place.offset() - part.offset();
        if (place.length() > bytes.byteSize() - at) {
            skipping.skip(place.id(), place.length(), "the pack is shorter than its index says");
            return Optional.empty();
        }
        return open(place.id(), bytes.asSlice(at, place.length()), skipping);
    }

    private Optional<Arrival> open(Sha256 id, MemorySegment stored, Skipping skipping) {
        return switch (decoded(id, stored)) {
            case LoadResult.Hit(Entry entry) -> Optional.of(new Arrival(entry, stored));
            case LoadResult.Damaged bad -> {
                skipping.skip(id, stored.byteSize(), "damaged: " + bad.detail());
                yield Optional.empty();
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ -> throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }

    private LoadResult decoded(Sha256 id, MemorySegment stored) {
        return keys.inItsPlace(EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), id);
    }
}
