package dev.granary.s3.pack;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Looks up ids in the packs of one target. Thread-safe.
 *
 * <p>Manifest and indexes are read from the local disk if another process has stored them there. A
 * background thread compares the manifest with the bucket's, once per interval. A lookup waits for
 * the bucket if neither memory nor disk has a manifest. It also waits if the id is in no pack and
 * the manifest was confirmed more than {@value RefreshSchedule#MAX_AGE} intervals ago. Otherwise an
 * id in no pack costs no request, and one in a pack costs one: the range of its entry.
 *
 * <p>If a pack is missing or too short, the lookup reads the manifest again, once, and searches the
 * other packs; then it is a miss.
 */
public final class TargetPackReader {
    private static final int NOT_SATISFIABLE = 416;
    private static final int MAX_PASSES = 2;

    /** The number of further packs in which an entry that is damaged in one is searched. */
    private static final int MAX_COPIES = 3;

    private final ObjectStore background;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final RefreshSchedule schedule;
    private final Function<ObjectStore, PackManifestLog> logs;
    private final Executor executor;
    private final ReentrantLock fetchLock = new ReentrantLock();
    private final AtomicBoolean isRefreshing = new AtomicBoolean();
    private volatile @Nullable TargetPackState current;
    private volatile boolean hasFailed; // the last read of the manifest
    private volatile boolean hasWrittenUnpacked;
    private volatile String failureCause = "";
    // reads of the newest manifest from nothing; counted with the lock held
    private final AtomicLong fullReadsBegun = new AtomicLong();
    private volatile long lastFullRead; // the last of them that succeeded
    private volatile long lastConfirmed; // the last of them after which the hint was repaired
    private volatile long refreshAt;
    // reads of the manifest; counted with the lock held
    private final AtomicLong readCount = new AtomicLong();

    TargetPackReader(
            ObjectStore background,
            TargetLayout keys,
            PackIndexCache indexCache,
            RefreshSchedule schedule,
            Function<ObjectStore, PackManifestLog> logs,
            Executor executor) {
        this.background = background;
        this.keys = keys;
        this.indexCache = indexCache;
        this.schedule = schedule;
        this.logs = logs;
        this.executor = executor;
    }

    /**
     * Looks up an id.
     *
     * @param store sends the requests; its deadline bounds the call
     */
    PackAnswer load(Id id, ObjectStore store) {
        return load(
                id.hash(),
                stored -> EntryFormat.decode(stored, id, VerificationLevel.CONTENT_HASH),
                store);
    }

    /** Looks up the hash of an unknown id. */
    PackAnswer load(Sha256 hash, ObjectStore store) {
        return load(
                hash,
                stored -> keys.checkId(
                        EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), hash),
                store);
    }

    private PackAnswer load(
            Sha256 id, Function<MemorySegment, LoadResult> decoder, ObjectStore store) {
        Optional<PackAnswer> damaged = Optional.empty();
        int pass = 1;
        int copies = 0;
        while (true) {
            boolean isLast = pass == MAX_PASSES;
            long seen = readCount.get();
            TargetPackState state = state(store).orElse(null);
            if (state == null) {
                return new PackAnswer.Unconfirmed(
                        "another lookup is reading the manifest of packs, which takes too long");
            }
            boolean isOld = schedule.isOutOfDate(state.confirmedAt());
            SearchResult found = find(state, id, store);
            switch (found) {
                // it may be in a pack published since
                case SearchResult.NotFound _
                when !isLast && isOld && (!hasFailed || schedule.isDue(refreshAt)) -> {}
                case SearchResult.NotFound _
                when !state.isKnown() || isOld -> {
                    return damaged.orElseGet(() -> new PackAnswer.Unconfirmed(
                            "the bucket has not reported its packs, or not recently: "
                                    + failureCause));
                }
                case SearchResult.NotFound _ -> {
                    return damaged.orElseGet(() ->
                            state.isSurelyAbsent(id) ? PackAnswer.ABSENT : PackAnswer.NOT_PACKED);
                }
                case SearchResult.PackLost _ -> {} // recorded: the next pass skips that pack
                case SearchResult.Unavailable unavailable -> {
                    return new PackAnswer.Unavailable(unavailable.failure().toString());
                }
                case SearchResult.InPack in -> {
                    Optional<PackAnswer> answer = read(state, in, decoder, store);
                    if (answer.isPresent() && !(answer.get() instanceof PackAnswer.Damaged)) {
                        return answer.get();
                    }
                    if (answer.isPresent()) {
                        damaged = damaged.or(() -> answer);
                        if (copies++ < MAX_COPIES) {
                            // that pack is skipped from now on; another one may have the entry, too
                            continue;
                        }
                        return damaged.get();
                    }
                    if (isLast) {
                        continue; // the lost pack is skipped, too
                    }
                }
            }
            if (isLast) {
                return damaged.orElse(PackAnswer.NOT_PACKED);
            }
            refreshAfterLoss(
                    store,
                    seen,
                    found instanceof SearchResult.NotFound ? LostPacks.FORGET : LostPacks.KEEP);
            pass++;
        }
    }

    /**
     * Returns true if an existing pack has an entry of that id; false also if the bucket does not
     * report it. An index alone may be that of a removed pack.
     */
    boolean holds(Id id, ObjectStore store) {
        TargetPackState state = state(store).orElse(null);
        while (state != null && find(state, id.hash(), store) instanceof SearchResult.InPack in) {
            if (state.isWhole(in.pack())) {
                return true;
            }
            switch (presence(in.pack(), keys, store)) {
                case THERE -> {
                    state.markWhole(in.pack());
                    return true;
                }
                case GONE -> state.markLost(in.pack()); // another pack may have the entry, too
                case UNKNOWN -> {
                    return false;
                }
            }
        }
        return false;
    }

    /** Returns a mark for {@link #confirm}: later reads are newer. */
    long mark() {
        return fullReadsBegun.get();
    }

    /**
     * Ensures that the known manifest is one that a process with an empty directory has read since
     * the {@linkplain #mark mark}, and that the hint names it, as far as possible: an older hint
     * would expire before the manifest does. Not for lookups, since it may write the hint.
     *
     * @return false if lookups do not reach the manifest, or the bucket does not report it
     */
    boolean confirm(long mark, ObjectStore store) {
        if (lastConfirmed <= mark && tryFetchLock(store)) {
            try {
                if (lastFullRead <= mark) {
                    readNewest(store, PackManifest.NONE, LostPacks.FORGET);
                }
                if (lastConfirmed <= mark
                        && lastFullRead > mark
                        && logs.apply(store).repairHint(known())) {
                    lastConfirmed = lastFullRead;
                }
            } finally {
                fetchLock.unlock();
            }
        }
        return lastConfirmed > mark;
    }

    /** The outcome of {@link #unseal}. */
    sealed interface Unsealed {
        /** Lookups request unpacked entries. */
        record Done() implements Unsealed {}

        /** Lookups do not request them. */
        record Failed(String cause) implements Unsealed {}

        /** The bucket did not report it. */
        record Unknown(String cause) implements Unsealed {}
    }

    /**
     * Commits that the target may have unpacked entries, after one was stored, unless the manifest
     * says so. The bucket is read after the write: another process may have sealed the target from
     * an older listing, or be about to.
     */
    Unsealed unseal(ObjectStore store) {
        long mark = mark();
        Optional<TargetPackState> ignored = state(store); // reads the manifest if none is known
        // evaluated before the manifest is taken, which is then at least as new
        boolean isFresh = lastFullRead > mark;
        PackManifest known = known();
        try {
            boolean isNewest = isFresh || logs.apply(store).isNewest(known);
            if (isNewest && known.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE) {
                return new Unsealed.Done();
            }
        } catch (UnknownStateException e) {
            hasWrittenUnpacked = true;
            return new Unsealed.Unknown(
                    "the bucket does not report whether lookups request unpacked entries: "
                            + e.failure());
        }
        Unsealed unsealed = commitUnsealed(store);
        refresh(store);
        return unsealed;
    }

    private Unsealed commitUnsealed(ObjectStore store) {
        PackManifestLog.Committed committed = logs.apply(store)
                .commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE
                        ? Optional.empty()
                        : Optional.of(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return switch (committed) {
            case PackManifestLog.Committed.Done _, PackManifestLog.Committed.Overtaken _ ->
                new Unsealed.Done();
            case PackManifestLog.Committed.Failed failed -> new Unsealed.Failed(failed.cause());
            case PackManifestLog.Committed.Unknown unknown -> new Unsealed.Failed(unknown.cause());
        };
    }

    /** The presence of a pack in the bucket. */
    public enum Presence {
        THERE,
        GONE,
        UNKNOWN
    }

    /**
     * Requests a pack from the bucket, since a cached index proves nothing. One of another length
     * counts as gone.
     */
    public static Presence presence(PackInfo pack, TargetLayout keys, ObjectStore store) {
        return switch (store.head(keys.pack(pack.name()))) {
            case HeadResult.Found found ->
                found.bytes() == pack.bytes() ? Presence.THERE : Presence.GONE;
            case HeadResult.Absent _ -> Presence.GONE;
            case HeadResult.Unavailable unavailable ->
                AbsenceVerifier.isAbsent(unavailable.failure(), keys.pack(pack.name()), store, keys)
                        ? Presence.GONE
                        : Presence.UNKNOWN;
        };
    }

    /** Returns true if the packs have an entry of that id, as far as is known without a request. */
    boolean isKnown(Id id) {
        TargetPackState state = current;
        return state != null
                && state.manifest().packs().stream()
                        .anyMatch(pack -> state.mayHave(pack, id.hash())
                                && state.index(pack)
                                        .flatMap(index -> index.find(id.hash()))
                                        .isPresent());
    }

    /** Returns true if a lookup found a pack missing since the manifest was read. */
    boolean hasLostPack() {
        TargetPackState state = current;
        return state != null && state.hasLostPack();
    }

    /** The outcome of searching an id in the indexes. */
    private sealed interface SearchResult {
        record InPack(PackInfo pack, PackLocation location) implements SearchResult {}

        record NotFound() implements SearchResult {}

        /** No readable pack has it, and a pack that may have had it was just found missing. */
        record PackLost() implements SearchResult {}

        record Unavailable(StoreFailure failure) implements SearchResult {}
    }

    private SearchResult find(TargetPackState state, Sha256 id, ObjectStore store) {
        boolean isOneLost = false;
        for (PackInfo pack : state.manifest().packs()) {
            if (!state.mayHave(pack, id)) {
                continue;
            }
            switch (index(state, pack, store)) {
                case IndexResult.Ok(PackIndex index) -> {
                    Optional<PackLocation> location = index.find(id);
                    if (location.isPresent()) {
                        return new SearchResult.InPack(pack, location.get());
                    }
                }
                case IndexResult.Lost _, IndexResult.Forbidden _, IndexResult.Newer _ -> {
                    state.markLost(pack);
                    isOneLost = true;
                }
                case IndexResult.Unavailable unavailable -> {
                    return new SearchResult.Unavailable(unavailable.failure());
                }
            }
        }
        return isOneLost ? new SearchResult.PackLost() : new SearchResult.NotFound();
    }

    /** Reads the entry at a location; returns empty if the pack is lost, which is recorded. */
    private Optional<PackAnswer> read(
            TargetPackState state,
            SearchResult.InPack in,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        PackLocation location = in.location();
        return switch (store.range(
                keys.pack(in.pack().name()), location.offset(), location.length())) {
            case GetResult.Found found ->
                Optional.of(answer(state, in, decoder.apply(found.bytes())));
            case GetResult.Absent _ -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.TooLarge _ -> {
                state.markDamaged(in.pack(), location.id());
                yield Optional.of(new PackAnswer.Damaged(
                        DamageKind.EXTENDED,
                        "the server sent more of pack " + in.pack().name()
                                + " than was asked for"));
            }
            case GetResult.Unavailable unavailable
            when isGone(unavailable.failure(), in.pack(), keys, store) -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.Unavailable unavailable ->
                Optional.of(new PackAnswer.Unavailable(unavailable.failure().toString()));
        };
    }

    /** Returns true if the pack is missing or too short. */
    private static boolean isGone(
            StoreFailure failure, PackInfo pack, TargetLayout keys, ObjectStore store) {
        return failure.status() == NOT_SATISFIABLE
                || AbsenceVerifier.isAbsent(failure, keys.pack(pack.name()), store, keys);
    }

    private static PackAnswer answer(
            TargetPackState state, SearchResult.InPack in, LoadResult decoded) {
        return switch (decoded) {
            case LoadResult.Hit hit -> new PackAnswer.Hit(hit.entry());
            case LoadResult.Damaged bad -> {
                state.markDamaged(in.pack(), in.location().id());
                yield new PackAnswer.Damaged(
                        bad.damage(), "in pack " + in.pack().name() + ": " + bad.detail());
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ ->
                throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }

    /** The outcome of reading an index. */
    public sealed interface IndexResult {
        record Ok(PackIndex index) implements IndexResult {}

        /** The pack is missing, or its index is damaged. */
        record Lost(String cause) implements IndexResult {}

        /**
         * The pack is missing or must not be read: without the right to list, the server returns
         * 403 for both.
         */
        record Forbidden(StoreFailure failure) implements IndexResult {
            public String cause() {
                return "it is not there, or must not be read: " + failure;
            }
        }

        /** A newer version of Granary wrote it. */
        record Newer(String cause) implements IndexResult {}

        record Unavailable(StoreFailure failure) implements IndexResult {}
    }

    private IndexResult index(TargetPackState state, PackInfo pack, ObjectStore store) {
        Optional<PackIndex> known = state.index(pack);
        if (known.isPresent()) {
            return new IndexResult.Ok(known.get());
        }
        if (!tryFetchLock(store)) {
            return new IndexResult.Unavailable(StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT,
                    "another lookup is reading the index of a pack, which takes too long"));
        }
        try {
            known = state.index(pack);
            if (known.isPresent()) {
                return new IndexResult.Ok(known.get());
            }
            IndexResult indexed = fetchIndex(pack, keys, indexCache, store);
            if (indexed instanceof IndexResult.Ok ok) {
                state.add(pack, ok.index());
            }
            return indexed;
        } finally {
            fetchLock.unlock();
        }
    }

    /**
     * Returns the index of a pack from the cache, or from the bucket, and then stores it in the
     * cache.
     */
    public static IndexResult fetchIndex(
            PackInfo pack, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        Optional<byte[]> cached = indexCache.encodedIndex(pack);
        if (cached.isPresent()) {
            if (PackIndex.decode(cached.get(), pack.indexOffset(), keys.namespace())
                            instanceof PackIndex.Read.Ok ok
                    && pack.isIndexedBy(ok.index())) {
                return new IndexResult.Ok(ok.index());
            }
            indexCache.remove(pack.name());
        }
        return switch (store.range(keys.pack(pack.name()), pack.indexOffset(), pack.indexBytes())) {
            case GetResult.Found found -> {
                byte[] encodedIndex = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                yield switch (PackIndex.decode(
                        encodedIndex, pack.indexOffset(), keys.namespace())) {
                    case PackIndex.Read.Ok ok
                    when !pack.isIndexedBy(ok.index()) ->
                        new IndexResult.Lost("its index is that of another pack");
                    case PackIndex.Read.Ok ok -> {
                        indexCache.store(pack, encodedIndex);
                        yield new IndexResult.Ok(ok.index());
                    }
                    case PackIndex.Read.Bad bad
                    when bad.damage() == DamageKind.TOO_NEW ->
                        new IndexResult.Newer("a newer version wrote it: " + bad.detail());
                    case PackIndex.Read.Bad bad ->
                        new IndexResult.Lost("its index is damaged: " + bad.detail());
                };
            }
            case GetResult.Absent _ -> new IndexResult.Lost("it is not there");
            case GetResult.TooLarge _ ->
                new IndexResult.Lost("the server sent more of it than was asked for");
            case GetResult.Unavailable unavailable
            when unavailable.failure().status() == NOT_SATISFIABLE ->
                new IndexResult.Lost("it is too short");
            case GetResult.Unavailable unavailable
            when isGone(unavailable.failure(), pack, keys, store) ->
                new IndexResult.Forbidden(unavailable.failure());
            case GetResult.Unavailable unavailable ->
                new IndexResult.Unavailable(unavailable.failure());
        };
    }

    /**
     * Returns the current state: from memory, the local disk, or the bucket, for which the caller
     * waits.
     */
    private Optional<TargetPackState> state(ObjectStore store) {
        if (current == null) {
            if (!tryFetchLock(store)) {
                return Optional.empty();
            }
            try {
                if (current == null) {
                    readFirst(store);
                }
            } finally {
                fetchLock.unlock();
            }
        } else if (schedule.isDue(refreshAt) && isRefreshing.compareAndSet(false, true)) {
            refreshInBackground();
        }
        return Optional.ofNullable(current);
    }

    private void readFirst(ObjectStore store) {
        Optional<PackManifest> cached = indexCache.manifest();
        if (cached.isPresent()) {
            Optional<Long> ago = indexCache.manifestAge(schedule.wallMillis().getAsLong());
            refreshAt = schedule.nextRefresh(ago);
            TargetPackState state = new TargetPackState(cached.get());
            state.setConfirmedAt(schedule.before(ago));
            current = state;
        } else {
            readNewest(store, PackManifest.NONE, LostPacks.FORGET);
        }
    }

    private void refreshInBackground() {
        try {
            executor.execute(() -> {
                try {
                    refresh(background);
                } finally {
                    isRefreshing.set(false);
                }
            });
        } catch (RejectedExecutionException e) { // closed meanwhile
            isRefreshing.set(false);
        }
    }

    /**
     * Compares the manifest, and forgets lost packs: a missing pack is tried again once per
     * interval.
     */
    private void refresh(ObjectStore store) {
        if (tryFetchLock(store)) {
            try {
                readNewest(store, known(), LostPacks.FORGET);
            } finally {
                fetchLock.unlock();
            }
        }
    }

    private PackManifest known() {
        TargetPackState state = current;
        return state == null ? PackManifest.NONE : state.manifest();
    }

    /** Reads the manifest again, unless another thread has since {@code seen}. */
    private void refreshAfterLoss(ObjectStore store, long seen, LostPacks lostPacks) {
        if (tryFetchLock(store)) {
            try {
                if (readCount.get() == seen) {
                    readNewest(store, known(), lostPacks);
                }
            } finally {
                fetchLock.unlock();
            }
        }
    }

    /** The handling of lost packs, which a newer manifest may still name. */
    private enum LostPacks {
        KEEP,
        FORGET
    }

    /**
     * Reads the newest manifest, with the lock held. After a failure the known one stays, and is
     * compared again soon.
     *
     * @param from the manifest to search from; {@link PackManifest#NONE} to search as a new process
     *     does
     */
    private void readNewest(ObjectStore store, PackManifest from, LostPacks lostPacks) {
        TargetPackState known = current;
        long fresh = from.number() == 0 ? fullReadsBegun.incrementAndGet() : 0;
        switch (logs.apply(store).newest(from)) {
            case PackManifestLog.Newest.Found(PackManifest newest) -> {
                unsealIfWritten(newest, store);
                refreshAt = schedule.nextRefresh(Optional.empty());
                hasFailed = false;
                TargetPackState confirmed = confirmed(known, newest, lostPacks);
                confirmed.setConfirmedAt(schedule.now());
                current = confirmed;
                lastFullRead = Math.max(lastFullRead, fresh);
                indexCache.store(newest);
            }
            case PackManifestLog.Newest.Unavailable(String cause) -> {
                refreshAt = schedule.nextTry();
                hasFailed = true;
                failureCause = cause;
                current = known == null ? TargetPackState.unknown() : known;
            }
        }
        readCount.incrementAndGet();
    }

    private static TargetPackState confirmed(
            @Nullable TargetPackState known, PackManifest newest, LostPacks lostPacks) {
        if (known == null || !known.isKnown()) {
            return new TargetPackState(newest);
        }
        if (lostPacks == LostPacks.FORGET) {
            return known.next(newest);
        }
        return newest == known.manifest() ? known : known.nextWithLostPacks(newest);
    }

    /**
     * Removes the seal after this process stored an unpacked entry: another process may have sealed
     * the target from an older listing.
     */
    private void unsealIfWritten(PackManifest newest, ObjectStore store) {
        if (hasWrittenUnpacked && newest.number() > 0) {
            hasWrittenUnpacked = newest.unpackedEntries() != PackManifest.UnpackedEntries.POSSIBLE
                    && !(commitUnsealed(store) instanceof Unsealed.Done);
        }
    }

    /** Takes the lock, unless {@code store} could not send a request in time afterwards. */
    private boolean tryFetchLock(ObjectStore store) {
        long timeout = schedule.timeout().toNanos();
        try {
            return fetchLock.tryLock(
                    store instanceof DeadlineBound limited
                            ? Math.min(timeout, limited.remainingNanos())
                            : timeout,
                    TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
