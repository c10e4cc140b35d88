package dev.granary.s3.pack;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.pack.manifest.PackManifestLog.Committed;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Publisher of entries of one target in packs. An entry is stored when the manifest names its pack:
 * after {@link #finish()}, or earlier if the pack became full. Thread-safe.
 *
 * <p>Memory holds one pack of at most {@value PackBuilder#FULL_BYTES} bytes, one entry and an
 * index, in a buffer of at most twice that size. While the pack is written it is held once more.
 * Each caller in {@code add} holds its entry.
 */
public final class PackPublisher {
    /** The number of attempts to write a pack that is lost before its commit ends. */
    private static final int MAX_ATTEMPTS = 3;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final LostPackFinder lostPacks;
    private final RandomGenerator random;
    private final Map<Sha256, PendingEntry> pending = new LinkedHashMap<>(); // guarded by this
    private PackBuilder open; // guarded by this

    /** The size of an entry and the listeners for its result. */
    private record PendingEntry(long bytes, List<Consumer<StoreResult>> listeners) {
        void complete(StoreResult result) {
            StoreResult own =
                    result instanceof StoreResult.Stored ? new StoreResult.Stored(bytes) : result;
            listeners.forEach(listener -> listener.accept(own));
        }
    }

    public PackPublisher(
            ObjectStore store,
            TargetLayout keys,
            PackIndexCache indexCache,
            RandomGenerator random,
            Consumer<Duration> pause) {
        this.store = store;
        this.keys = keys;
        this.indexCache = indexCache;
        this.log = new PackManifestLog(store, keys, random, pause);
        this.writer = new PackWriter(store, random, pause);
        this.remover = new BucketRemover(store, keys, log);
        this.lostPacks = new LostPackFinder(store, keys);
        this.random = random;
        this.open = new PackBuilder(keys.namespace(), random);
    }

    /**
     * Adds an entry to the pack. An entry that is pending already is not added again; all listeners
     * get the same result.
     *
     * @param whenDone called with the result when the entry's pack is finished
     * @return false if the entry is too large for a pack and was not added
     */
    public boolean add(Entry entry, Consumer<StoreResult> whenDone) {
        byte[] encoded;
        try {
            encoded = EntryFormat.encode(entry, Compression.ZSTD, WriteAttemptId.NONE);
        } catch (IllegalArgumentException e) {
            return false;
        }
        if (!PackBuilder.fits(encoded.length)) {
            return false;
        }
        synchronized (this) {
            PendingEntry before = pending.get(entry.id().hash());
            if (before != null) {
                // its pack is not written yet, so both get the same result
                before.listeners().add(whenDone);
                return true;
            }
            open.add(entry.id().hash(), encoded, TimeUnit.NANOSECONDS.convert(entry.compileTime()));
            pending.put(
                    entry.id().hash(),
                    new PendingEntry(encoded.length, new ArrayList<>(List.of(whenDone))));
            if (open.isFull()) {
                publish();
            }
            return true;
        }
    }

    /**
     * Writes and commits the pack under construction, if it has any entry, and passes the result to
     * the listeners.
     */
    public synchronized void finish() {
        if (open.size() > 0) {
            publish();
        }
    }

    /** The outcome of removing lost packs from the manifest. */
    public sealed interface Forgotten {
        /**
         * The manifest names no lost pack.
         *
         * @param packs the number of packs that were removed from it
         */
        record Done(int packs) implements Forgotten {}

        /**
         * The manifest still names them, as far as is known: {@code warm} reports them.
         *
         * @param cause the cause, for people
         */
        record Failed(String cause) implements Forgotten {}
    }

    /**
     * Commits a manifest without the packs that the bucket has lost: otherwise every reader
     * requests them, and {@code warm} reports their entries as missing. Sends one read of the
     * newest manifest and a listing; commits nothing if no pack is lost or the bucket cannot be
     * read.
     */
    public Forgotten forgetLost() {
        return switch (log.commit(this::planWithoutLost)) {
            case Committed.Failed<?>(String cause) ->
                new Forgotten.Failed("the manifest could not be committed: " + cause);
            case Committed.Unknown<?>(String cause) ->
                new Forgotten.Failed("the outcome of the commit is unknown: " + cause);
            case Committed.Done<LostPackFinder.SearchResult> done -> forgotten(done.finding());
            case Committed.Overtaken<LostPackFinder.SearchResult> overtaken ->
                forgotten(overtaken.finding());
        };
    }

    private ManifestPlan<LostPackFinder.SearchResult> planWithoutLost(PackManifest base) {
        LostPackFinder.SearchResult found = lostPacks.find(base.packs());
        return found instanceof LostPackFinder.SearchResult.Lost(Set<Sha256> gone)
                        && !gone.isEmpty()
                ? new ManifestPlan.Commit<>(
                        base.replacing(gone, List.of(), base.unpackedEntries()), found)
                : new ManifestPlan.Nothing<>(found);
    }

    private static Forgotten forgotten(LostPackFinder.SearchResult found) {
        return switch (found) {
            case LostPackFinder.SearchResult.Lost(Set<Sha256> gone) ->
                new Forgotten.Done(gone.size());
            case LostPackFinder.SearchResult.Unavailable(StoreFailure failure) ->
                new Forgotten.Failed("the packs could not be listed: " + failure);
        };
    }

    /** Called with the lock held: other callers of {@code add} wait, which bounds the memory. */
    private void publish() {
        Pack pack = open.build();
        open = new PackBuilder(keys.namespace(), random);
        Map<Sha256, PendingEntry> batch = new LinkedHashMap<>(pending);
        pending.clear();
        StoreResult result = new StoreResult.Failed("the pack could not be written");
        try {
            result = write(pack, batch.keySet());
        } finally { // the listeners are called even if the store breaks its contract
            StoreResult last = result;
            batch.values().forEach(one -> one.complete(last));
        }
    }

    private StoreResult write(Pack pack, Set<Sha256> ids) {
        Pack current = pack;
        Set<Sha256> lost = new HashSet<>();
        for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
            if (writer.write(current, keys) instanceof PackWriter.Written.Failed failed) {
                return new StoreResult.Failed("the pack could not be written: " + failed.failure());
            }
            PackInfo info = current.info();
            Committed<PackWriter.PackState> committed =
                    log.commit(base -> plan(base, info, ids, lost));
            PackWriter.PackState state =
                    switch (committed) {
                        case Committed.Overtaken<PackWriter.PackState> overtaken ->
                            overtaken.finding();
                        case Committed.Done<PackWriter.PackState> done ->
                            writer.stateAfterCommit(info, keys, done.manifest().number());
                        case Committed.Failed<?> _, Committed.Unknown<?> _ ->
                            new PackWriter.PackState.Lasting();
                    };
            switch (state) {
                case PackWriter.PackState.Lasting _ -> {
                    return result(committed, info);
                }
                case PackWriter.PackState.Unknown unavailable -> {
                    String cause = "the presence of the pack is unknown: " + unavailable.failure();
                    return committed instanceof Committed.Done<?>
                            ? new StoreResult.Unknown(cause)
                            : new StoreResult.Failed(cause);
                }
                case PackWriter.PackState.Late _, PackWriter.PackState.Gone _ -> {
                    lost.add(info.name());
                    current = PackBuilder.renamed(current, random);
                }
            }
        }
        return new StoreResult.Failed(
                "the pack was gone, or out of date, after each of " + MAX_ATTEMPTS
                        + " commits: this process or the server is suspended for hours, or new"
                        + " packs are removed");
    }

    private StoreResult result(Committed<?> committed, PackInfo pack) {
        return switch (committed) {
            case Committed.Done<?> _ -> new StoreResult.Stored(pack.bytes());
            case Committed.Overtaken<?> _ -> overtaken(pack);
            case Committed.Failed<?>(String cause) ->
                new StoreResult.Failed("the manifest could not be committed: " + cause);
            case Committed.Unknown<?>(String cause) ->
                new StoreResult.Unknown("the outcome of the commit is unknown: " + cause);
        };
    }

    /**
     * Returns the plan of the next manifest, and the state of the pack, read after {@code base}
     * was. Nothing is planned if the pack cannot be named any more, or other packs have all
     * entries: the state is then not read, and given as lasting.
     *
     * <p>A pack that was named and is gone is replaced by the new one. One that was named too late,
     * and exists, stays named: other writers may rely on its entries.
     */
    private ManifestPlan<PackWriter.PackState> plan(
            PackManifest base, PackInfo pack, Set<Sha256> ids, Set<Sha256> lost) {
        if (hasAll(base, ids, lost)) {
            return new ManifestPlan.Nothing<>(new PackWriter.PackState.Lasting());
        }
        PackWriter.PackState before = writer.stateBeforeCommit(pack, keys);
        if (!(before instanceof PackWriter.PackState.Lasting)) {
            return new ManifestPlan.Nothing<>(before);
        }
        Set<Sha256> gone = base.packs().stream()
                .filter(named -> lost.contains(named.name())
                        && PackPresence.of(named, keys, store) == PackPresence.GONE)
                .map(PackInfo::name)
                .collect(Collectors.toSet());
        PackManifest next = gone.isEmpty()
                ? base.plus(pack)
                : base.replacing(gone, List.of(pack), base.unpackedEntries());
        return new ManifestPlan.Commit<>(next, before);
    }

    private StoreResult overtaken(PackInfo pack) {
        return switch (remover.removeOwn(List.of(pack))) {
            case NOT_NAMED, UNKNOWN -> StoreResult.DUPLICATE;
            case NAMED -> new StoreResult.Stored(pack.bytes());
        };
    }

    /**
     * Returns true if packs that are in the bucket now have all these ids: another writer published
     * them. An index alone proves nothing: it may be a cached one of a pack that was removed since.
     */
    private boolean hasAll(PackManifest manifest, Set<Sha256> ids, Set<Sha256> lost) {
        Set<Sha256> missing = new HashSet<>(ids);
        for (PackInfo pack : manifest.packs()) {
            if (lost.contains(pack.name())
                    || missing.stream().noneMatch(pack.filter()::mayContain)) {
                continue;
            }
            if (PackIndexReader.read(pack, keys, indexCache, store)
                            instanceof PackIndexReader.IndexResult.Ok ok
                    && missing.stream().anyMatch(id -> ok.index().find(id).isPresent())
                    && PackPresence.of(pack, keys, store) == PackPresence.THERE) {
                missing.removeIf(id -> ok.index().find(id).isPresent());
            }
        }
        return missing.isEmpty();
    }
}
