package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.Verification;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.random.RandomGenerator;

/**
 * Folds the entries of one target that lie alone into packs, puts small packs together, and removes what no reader can be using any more.
 *
 * <p>It may be stopped at any moment, and any number may run at once: packs are written first, one commit of the manifest puts them in the place of
 * what they replace, and only what is in the committed manifest, or has been named by none for the grace, is removed. Whose plan another's commit
 * has overtaken plans again.
 */
public final class Compaction {
    private static final long PART_BYTES = 8 << 20;

    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final ManifestLog log;
    private final PackWriter writer;
    private final RandomGenerator random;

    Compaction(ObjectStore store, PackKeys keys, IndexShelf shelf, ManifestLog log, PackWriter writer, RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.log = log;
        this.writer = writer;
        this.random = random;
    }

    /** The outcome of planning. */
    public sealed interface Planned {
        /**
         * This is to be done.
         *
         * @param plan what
         */
        record Ready(CompactionPlan plan) implements Planned {}

        /**
         * The bucket cannot be read.
         *
         * @param cause why, for people
         */
        record Unavailable(String cause) implements Planned {}
    }

    /** The outcome of a compaction. */
    public sealed interface Result {
        /**
         * It is done.
         *
         * @param packed entries that lie in new packs
         * @param written packs that were written
         * @param removed objects that were removed
         * @param skipped entries that were left where they are because they are damaged or could not be read
         */
        record Done(long packed, long written, long removed, long skipped) implements Result {}

        /** Another writer has replaced packs that were to be put together: plan again. */
        record Overtaken() implements Result {}

        /**
         * It was not done, or nobody knows; nothing is lost.
         *
         * @param cause why, for people
         */
        record Failed(String cause) implements Result {}
    }

    /**
     * Finds out what there is to do.
     *
     * @param grace how long what is not needed any more stays, for readers that do not know it yet: longer than a manifest interval and the
     *     longest read
     */
    public Planned plan(Duration grace) {
        return switch (log.newest(Manifest.NONE)) {
            case ManifestLog.Newest.Found found -> new CompactionPlanner(store, keys, shelf, grace, found.manifest()).plan();
            case ManifestLog.Newest.Unavailable lost -> new Planned.Unavailable(lost.cause());
        };
    }

    /**
     * Does what was planned.
     *
     * @param loose what the manifest says of entries outside of packs afterwards
     * @param progress told how many bytes were read so far
     */
    public Result run(CompactionPlan plan, Manifest.Loose loose, LongConsumer progress) {
        Packing packing = new Packing(progress);
        try {
            plan.merge().forEach(packing::move);
            plan.fold().forEach(packing::fold);
            packing.finish();
        } catch (Packing.CannotWrite e) {
            return new Result.Failed(e.cause);
        }
        Set<Sha256> replaced = new HashSet<>(packing.moved);
        replaced.addAll(plan.lostNames());
        Manifest.Loose said = packing.skipped > 0 ? Manifest.Loose.ALLOWED : loose; // what was skipped may lie alone
        return switch (log.commit(base -> next(base, replaced, packing, said))) {
            case ManifestLog.Committed.Done _ -> new Result.Done(packing.packed, packing.written.size(), remove(plan), packing.skipped);
            case ManifestLog.Committed.Overtaken _ when packing.isOvertaken -> {
                packing.written.forEach(pack -> forget(pack.name()));
                yield new Result.Overtaken();
            }
            case ManifestLog.Committed.Overtaken _ -> new Result.Done(0, 0, remove(plan), packing.skipped);
            case ManifestLog.Committed.Failed failed -> new Result.Failed(failed.cause());
            case ManifestLog.Committed.Unknown unknown -> new Result.Failed(unknown.cause());
        };
    }

    private static Optional<Manifest> next(Manifest base, Set<Sha256> replaced, Packing packing, Manifest.Loose loose) {
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        packing.isOvertaken = !named.containsAll(replaced);
        boolean isNothing = replaced.isEmpty() && packing.written.isEmpty() && base.loose() == loose;
        return packing.isOvertaken || isNothing ? Optional.empty() : Optional.of(base.replacing(replaced, packing.written, loose));
    }

    private void forget(Sha256 pack) {
        WriteResult ignored = store.delete(keys.pack(pack)); // no manifest names it, and nobody else knows its name
    }

    /** Removes what was planned; what cannot be removed is left to the next compaction. */
    private long remove(CompactionPlan plan) {
        long removed = 0;
        for (LooseEntry entry : plan.redundant()) {
            removed += store.deleteIfMatch(entry.key(), entry.etag()) instanceof WriteResult.Done ? 1 : 0;
        }
        Set<Manifest.Retired> gone = new HashSet<>();
        for (Manifest.Retired retired : plan.expired()) {
            if (store.delete(keys.pack(retired.name())) instanceof WriteResult.Done) {
                gone.add(retired);
            }
        }
        if (!gone.isEmpty()) {
            log.commit(base -> Optional.of(base.forgetting(gone)));
        }
        return removed + gone.size();
    }

    /** Puts sound entries into new packs. For one thread. */
    private final class Packing {
        private final LongConsumer progress;
        private final List<PackInfo> written = new ArrayList<>();
        private final Set<Sha256> moved = new HashSet<>();
        private PackBuilder open = new PackBuilder(keys.namespace(), random);
        private long bytesRead;
        private long packed;
        private long skipped;
        private boolean isOvertaken;

        Packing(LongConsumer progress) {
            this.progress = progress;
        }

        /** A pack could not be written; ends the compaction. */
        static final class CannotWrite extends RuntimeException {
            private final String cause;

            CannotWrite(String cause) {
                super(cause, null, false, false);
                this.cause = cause;
            }
        }

        /** Moves the live entries of a pack; where a part of it cannot be read now, it stays. */
        void move(CompactionPlan.OldPack old) {
            boolean isWhole = true;
            for (Part part : Part.of(old.pack(), old.live(), PART_BYTES)) {
                switch (store.range(keys.pack(old.pack().name()), part.offset(), part.length())) {
                    case GetResult.Found found -> part.places().forEach(place -> add(place.id(), slice(found.bytes(), part, place)));
                    case GetResult.Absent _, GetResult.TooLarge _ -> skipped += part.places().size();
                    case GetResult.Unavailable _ -> {
                        skipped += part.places().size();
                        isWhole = false;
                    }
                }
                read(part.length());
            }
            if (isWhole) {
                moved.add(old.pack().name());
            }
        }

        private static MemorySegment slice(MemorySegment bytes, Part part, Place place) {
            long at = Math.min(place.offset() - part.offset(), bytes.byteSize());
            return bytes.asSlice(at, Math.min(place.length(), bytes.byteSize() - at));
        }

        void fold(LooseEntry entry) {
            switch (store.get(entry.key(), PackIndex.MAX_ENTRY_BYTES)) {
                case GetResult.Found found -> add(entry.id(), found.bytes());
                case GetResult.Absent _ -> {} // removed meanwhile
                case GetResult.TooLarge _, GetResult.Unavailable _ -> skipped++;
            }
            read(entry.bytes());
        }

        private void read(long bytes) {
            bytesRead += bytes;
            progress.accept(bytesRead);
        }

        private void add(Sha256 id, MemorySegment stored) {
            if (EntryFormat.decode(stored, Verification.CONTENT_HASH) instanceof LoadResult.Hit hit && hit.entry().id().hash().equals(id)
                    && hit.entry().id().target().path().equals(keys.namespace())) {
                open.add(id, stored.toArray(ValueLayout.JAVA_BYTE), hit.entry().compileTime().toNanos());
                packed++;
                if (open.isFull()) {
                    finish();
                }
            } else {
                skipped++;
            }
        }

        void finish() {
            if (open.size() == 0) {
                return;
            }
            Pack pack = open.build();
            open = new PackBuilder(keys.namespace(), random);
            if (writer.write(pack, keys) instanceof PackWriter.Written.Failed failed) {
                throw new CannotWrite("a pack could not be written: " + failed.failure());
            }
            written.add(pack.info());
        }
    }
}
