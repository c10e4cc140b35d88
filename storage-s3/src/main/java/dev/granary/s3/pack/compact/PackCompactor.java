package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.register.Change;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.register.SwapResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StopListingException;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compactor of one target: moves unpacked entries into packs, merges small packs, and rewrites
 * packs whose entries are mostly elsewhere. For one thread.
 *
 * <p>New packs have disjoint ranges of ids, so that a lookup reads the index of one. One swap names
 * the new packs and retires the old ones. Old packs are deleted later, by {@link PackRemover}.
 */
public final class PackCompactor {
    /** The number of times that a swap is planned again because the base has changed. */
    private static final int MAX_SWAPS = 10;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final Register register;
    private long removed;

    public PackCompactor(Register register) {
        this.store = register.store();
        this.keys = register.keys();
        this.register = register;
    }

    /**
     * Plans a compaction; changes nothing in the bucket.
     *
     * @param without the ids to be left out, or their first digits
     */
    public CompactionPlan plan(Set<String> without) throws CompactionException {
        return plan(Exclusion.of(without));
    }

    /** Plans a compaction that leaves out entries; changes nothing in the bucket. */
    public CompactionPlan plan(Exclusion exclusion) throws CompactionException {
        try {
            Optional<Register.Stored> head = register.read();
            CompactionPlan plan = new CompactionPlan(head, exclusion);
            if (head.isPresent()) {
                for (PackInfo pack : register.packs(head.get().head())) {
                    plan.packs.putIfAbsent(pack.name(), pack);
                }
            }
            for (PackInfo pack : List.copyOf(plan.packs.values())) {
                Optional<PackIndex> index = index(pack);
                if (index.isPresent()) {
                    plan.indexes.put(pack.name(), index.get());
                    plan.packs.put(pack.name(), filtered(pack, index.get()));
                } else {
                    plan.lost.add(pack);
                }
            }
            listUnpacked(plan);
            plan.choose();
            return plan;
        } catch (RegisterException e) {
            throw CompactionException.of(e);
        }
    }

    /** Reads an index from the bucket, since a cached one would hide the loss of its pack. */
    private Optional<PackIndex> index(PackInfo pack) throws CompactionException {
        return switch (PackIndexReader.read(pack, keys, PackIndexCache.NONE, store)) {
            case IndexResult.Ok(PackIndex index) -> Optional.of(index);
            case IndexResult.Lost _ -> EntryMover.salvageIndex(pack, keys, store);
            case IndexResult.Unavailable(String cause) ->
                throw new CompactionException(
                        "the index of pack " + pack.name() + " cannot be read: " + cause);
        };
    }

    private static PackInfo filtered(PackInfo pack, PackIndex index) {
        return pack.filter().isPresent() ? pack : pack.with(Optional.of(IdBloomFilter.of(index)));
    }

    private void listUnpacked(CompactionPlan plan) throws CompactionException {
        String prefix = keys.unpackedPrefix();
        try {
            ListResult listed = store.list(prefix, object -> {
                if (UnpackedEntry.of(object, prefix)
                        .filter(entry -> !plan.add(entry, object.lastModifiedMillis()))
                        .isPresent()) {
                    throw new StopListingException();
                }
            });
            if (listed instanceof ListResult.Unavailable unavailable) {
                throw new CompactionException(
                        "unpacked entries cannot be listed: " + unavailable.failure());
            }
        } catch (StopListingException e) {
            // the next compaction takes the rest
        }
    }

    /** Returns the number of unpacked entries that all runs removed, with and without a report. */
    public long removed() {
        return removed;
    }

    /**
     * Carries out a plan.
     *
     * @param grace the age from which an unpacked entry that is in a pack is removed
     * @param isDeleteExact true if the server honours the condition of a deletion
     * @param progress receives the number of bytes read so far
     * @return the report; empty if other writers changed the packs, so that it must be planned
     *     again
     */
    public Optional<CompactionReport> run(
            CompactionPlan plan, Duration grace, boolean isDeleteExact, LongConsumer progress)
            throws CompactionException {
        try (EntrySpool spool = new EntrySpool()) {
            return new Run(plan, grace, isDeleteExact, spool, progress).run();
        } catch (RegisterException e) {
            throw CompactionException.of(e);
        } catch (IOException e) {
            throw new CompactionException("the temporary file failed: " + e);
        }
    }

    /** One run. For one use. */
    private final class Run {
        private final CompactionPlan plan;
        private final Duration grace;
        private final boolean isDeleteExact;
        private final EntrySpool spool;
        private final EntryMover mover;
        private final List<PackInfo> written = new ArrayList<>();
        private long unremoved;
        private long waiting;
        private long leftOut;
        private boolean isOutOfDate; // the exclusion does not hold any more

        Run(
                CompactionPlan plan,
                Duration grace,
                boolean isDeleteExact,
                EntrySpool spool,
                LongConsumer progress) {
            this.plan = plan;
            this.grace = grace;
            this.isDeleteExact = isDeleteExact;
            this.spool = spool;
            this.mover = new EntryMover(store, keys, spool, progress);
        }

        Optional<CompactionReport> run()
                throws CompactionException, RegisterException, IOException {
            if (plan.head.isEmpty() && plan.unpacked.isEmpty()) {
                return Optional.of(report()); // no head is made for a target that does not exist
            }
            if (!plan.exclusion.isValid().getAsBoolean()) {
                return Optional.empty();
            }
            removeLeftOut(); // before the packs: else the next compaction would fold it again
            if (plan.head.isEmpty() && plan.unpacked.isEmpty()) {
                return Optional.of(report());
            }
            Register.Stored from =
                    plan.head.isPresent() ? plan.head.get() : register.readOrCreate();
            plan.lost.removeIf(pack -> !mover.recordLoss(pack, pack.entries()));
            for (UnpackedEntry entry : plan.unpacked.values()) {
                Optional<PackInfo> pack = Optional.ofNullable(plan.first.get(entry.id()));
                mover.moveUnpacked(entry, pack, pack.flatMap(one -> plan.find(one, entry.id())));
            }
            for (PackInfo pack : List.copyOf(plan.sources)) {
                if (!mover.movePack(plan, pack)) {
                    plan.sources.remove(pack);
                }
            }
            write(from.head().generation());
            Set<ObjectName> leaving = plan.leaving();
            if ((!written.isEmpty() || !leaving.isEmpty()) && !swap(from, leaving)) {
                return Optional.empty();
            }
            removeRedundant(from.serverMillis());
            return Optional.of(report());
        }

        /** Removes the unpacked entries that are to be left out. */
        private void removeLeftOut() {
            for (Sha256 id : plan.without) {
                leftOut++;
                UnpackedEntry entry = plan.unpacked.remove(id);
                if (entry == null) {
                    continue;
                }
                if (!isDeleteExact && !isUnchangedForLong(entry)) {
                    unremoved++; // it may be published in this moment, and is still found
                    continue;
                }
                countRemoval(
                        isDeleteExact
                                ? store.deleteIfMatch(entry.key(), entry.etag())
                                : store.delete(entry.key()));
            }
        }

        private boolean isUnchangedForLong(UnpackedEntry entry) {
            return store.head(entry.key()) instanceof HeadResult.Found found
                    && found.etag().equals(entry.etag())
                    && found.dates()
                            .age()
                            .filter(age -> age.compareTo(grace) >= 0)
                            .isPresent();
        }

        private void countRemoval(WriteResult result) {
            switch (result) {
                case WriteResult.Done _ -> removed++;
                case WriteResult.PreconditionFailed _ -> {} // it was published again
                case WriteResult.NotAllowed _,
                        WriteResult.NotSent _,
                        WriteResult.Conflict _,
                        WriteResult.Unknown _ -> unremoved++;
            }
        }

        private void write(long generation) throws CompactionException, IOException {
            Iterator<Sha256> ids = spool.ids();
            while (ids.hasNext()) {
                PackBuilder builder = new PackBuilder(keys.namespace(), register.random());
                while (ids.hasNext() && !builder.isFull(0)) {
                    spool.copy(ids.next(), builder);
                }
                PackBuilder.Pack pack = builder.build();
                PackInfo info = pack.info(generation);
                Optional<StoreFailure> failure =
                        register.writeImmutable(keys.pack(info.name()), pack.body());
                if (failure.isPresent()) {
                    throw new CompactionException("a pack could not be written: " + failure.get());
                }
                // a server that dropped it would cost all its entries
                if (!mover.isReadable(info, pack.locations().getFirst())) {
                    throw new CompactionException(
                            "a pack that was just written cannot be read: " + info.name());
                }
                written.add(info);
            }
        }

        /** Names the new packs instead of the leaving ones; returns false if one left already. */
        private boolean swap(Register.Stored from, Set<ObjectName> leaving)
                throws CompactionException, RegisterException {
            Register.Stored now = from;
            boolean isSwapped = false;
            for (int attempt = 0; attempt < MAX_SWAPS; attempt++) {
                Head head = now.head();
                List<PackInfo> named = register.packs(head);
                Set<ObjectName> names =
                        named.stream().map(PackInfo::name).collect(Collectors.toSet());
                if (isDone(head, names, leaving)) {
                    return true;
                }
                if (isSwapped) { // a server may drop a write that it reports as done
                    throw new CompactionException("the head that was just written is not there");
                }
                if (!names.containsAll(leaving)
                        || !written.stream().allMatch(pack -> head.admits(pack.name()))) {
                    return false;
                }
                // the new packs first: an unpacked entry wins over its copy in an older pack
                Map<ObjectName, PackInfo> rows = new HashMap<>();
                List<PackInfo> base = Stream.concat(written.stream(), named.stream())
                        .filter(pack -> !leaving.contains(pack.name())
                                && (plan.packs.containsKey(pack.name())
                                        || written.contains(pack)
                                        || !head.recent().contains(pack)))
                        .map(pack -> plan.packs.getOrDefault(pack.name(), pack))
                        .filter(pack -> rows.put(pack.name(), pack) == null)
                        .toList();
                ObjectName name = register.writeBase(head.generation(), base);
                Set<ObjectName> recent = head.recent().stream()
                        .map(PackInfo::name)
                        .filter(pack -> leaving.contains(pack) || rows.containsKey(pack))
                        .collect(Collectors.toSet());
                switch (register.swap(
                        Optional.of(now),
                        seen -> change(seen, head, name, recent, rows.keySet(), leaving))) {
                    case SwapResult.Done _ -> {
                        now = register.readOrCreate();
                        isSwapped = true;
                    }
                    case SwapResult.GaveUp gaveUp -> {
                        if (isOutOfDate) {
                            return false;
                        }
                        now = gaveUp.seen();
                    }
                    case SwapResult.Failed(String cause) -> throw new CompactionException(cause);
                    case SwapResult.Unknown(String cause) ->
                        throw new CompactionException("the outcome is unknown: " + cause);
                }
            }
            return false;
        }

        private boolean isDone(Head head, Set<ObjectName> names, Set<ObjectName> leaving) {
            return leaving.stream().noneMatch(names::contains)
                    && written.stream()
                            .map(PackInfo::name)
                            .allMatch(name -> names.contains(name) || head.retires(name));
        }

        private Change change(
                Head seen,
                Head planned,
                ObjectName base,
                Set<ObjectName> recent,
                Set<ObjectName> inBase,
                Set<ObjectName> leaving) {
            if (seen.base().equals(Optional.of(base))) {
                return Change.NOTHING;
            }
            isOutOfDate = !plan.exclusion.isValid().getAsBoolean();
            if (isOutOfDate) {
                return new Change.GiveUp("the entries to be left out have changed");
            }
            Set<ObjectName> there =
                    seen.recent().stream().map(PackInfo::name).collect(Collectors.toSet());
            boolean isSame = seen.base().equals(planned.base())
                    && there.containsAll(recent)
                    && seen.admits(base)
                    && written.stream().allMatch(pack -> seen.admits(pack.name()));
            return isSame
                    ? new Change.Next(seen.with(Optional.of(base), inBase, leaving))
                    : new Change.GiveUp("the packs have changed");
        }

        /**
         * Removes unpacked entries that have been in a pack for longer than the grace period. A
         * pack that leaves counts as well: the head names its entries in another one now, and
         * readers of an older head have the former one.
         */
        private void removeRedundant(long nowMillis) throws CompactionException {
            Map<PackInfo, List<EntryMover.Redundant>> byPack = new LinkedHashMap<>();
            mover.redundant.values().forEach(one -> byPack.computeIfAbsent(
                            one.pack(), _ -> new ArrayList<>())
                    .add(one));
            if (byPack.isEmpty()) {
                return;
            }
            Set<String> old = new HashSet<>();
            store.list(keys.packPrefix(), object -> {
                if (nowMillis > 0 && nowMillis - object.lastModifiedMillis() >= grace.toMillis()) {
                    old.add(object.key());
                }
            });
            for (Map.Entry<PackInfo, List<EntryMover.Redundant>> one : byPack.entrySet()) {
                List<EntryMover.Redundant> copies = one.getValue();
                if (!isDeleteExact || !old.contains(keys.pack(one.getKey().name()))) {
                    waiting += copies.size();
                    continue;
                }
                Set<Sha256> sound = mover.sound(
                        one.getKey(),
                        copies.stream().map(EntryMover.Redundant::location).toList());
                copies.stream()
                        .map(EntryMover.Redundant::entry)
                        .filter(entry -> sound.contains(entry.id())
                                && (!plan.sources.contains(one.getKey())
                                        || spool.contains(entry.id())))
                        .forEach(entry ->
                                countRemoval(store.deleteIfMatch(entry.key(), entry.etag())));
            }
        }

        private CompactionReport report() {
            return new CompactionReport(
                    spool.size(),
                    written.size(),
                    removed,
                    unremoved,
                    waiting,
                    leftOut,
                    mover.lost,
                    List.copyOf(mover.lossyPacks),
                    mover.damagedKeys,
                    mover.unread,
                    plan.tooLarge,
                    mover.otherVersion,
                    mover.gone,
                    plan.isTruncated);
        }
    }
}
