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
import org.jspecify.annotations.Nullable;

/**
 * Looks ids of one target up in its packs. Thread-safe.
 *
 * <p>Manifest and indexes are read from the disk of this machine where another process has kept them, and the manifest is compared with the
 * bucket's behind the callers, once in an interval. Only who finds neither waits for the bucket, and who finds an id in no pack of a manifest that was
 * confirmed more than {@value RefreshSchedule#MAX_AGE} intervals ago. Then an id that no pack has costs no request, and
 * one that a pack has costs one: the range where its entry lies.
 *
 * <p>A pack that is missing or too short makes the look-up read the manifest again, once, and look in the other packs; then it is a miss.
 */
public final class TargetPackReader {
    private static final int NOT_SATISFIABLE = 416;
    private static final int MAX_PASSES = 2;

    /** In how many packs more an entry is looked for that is damaged in one. */
    private static final int MAX_COPIES = 3;

    private final ObjectStore background;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final RefreshSchedule schedule;
    private final Function<ObjectStore, PackManifestLog> logs;
    private final Executor executor;
    private final ReentrantLock readLock = new ReentrantLock();
    private final AtomicBoolean isRefreshing = new AtomicBoolean();
    private volatile @Nullable TargetPackState current;
    private volatile boolean hasFailed; // to read the manifest, the last time
    private volatile boolean hasWrittenUnpacked;
    private volatile String failureCause = "";
    private final AtomicLong fullReadsBegun = new AtomicLong(); // readings of the newest manifest from nothing; counted with the lock held
    private volatile long lastFullRead; // the last of them that succeeded
    private volatile long refreshAt;
    private final AtomicLong readCount = new AtomicLong(); // how often the manifest was read; counted with the lock held

    TargetPackReader(ObjectStore background, TargetLayout keys, PackIndexCache indexCache, RefreshSchedule schedule,
            Function<ObjectStore, PackManifestLog> logs, Executor executor) {
        this.background = background;
        this.keys = keys;
        this.indexCache = indexCache;
        this.schedule = schedule;
        this.logs = logs;
        this.executor = executor;
    }

    /**
     * What the packs say of an id.
     *
     * @param store sends the requests; its deadline bounds the call
     */
    PackAnswer load(Id id, ObjectStore store) {
        return load(id.hash(), stored -> EntryFormat.decode(stored, id, VerificationLevel.CONTENT_HASH), store);
    }

    /** What the packs have under the hash of an id that is not known itself. */
    PackAnswer load(Sha256 hash, ObjectStore store) {
        return load(hash, stored -> keys.checkId(EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), hash), store);
    }

    private PackAnswer load(Sha256 id, Function<MemorySegment, LoadResult> decoder, ObjectStore store) {
        Optional<PackAnswer> damaged = Optional.empty();
        int pass = 1;
        int copies = 0;
        while (true) {
            boolean isLast = pass == MAX_PASSES;
            long seen = readCount.get();
            TargetPackState state = state(store).orElse(null);
            if (state == null) {
                return new PackAnswer.Unconfirmed("the manifest of packs is being read, and that takes too long");
            }
            boolean isOld = schedule.isOutOfDate(state.confirmedAt());
            SearchResult found = find(state, id, store);
            switch (found) {
                case SearchResult.NotFound _ when !isLast && isOld && (!hasFailed || schedule.isDue(refreshAt)) -> {} // it may be in a pack that was published since
                case SearchResult.NotFound _ when !state.isKnown() || isOld -> {
                    return damaged.orElseGet(() ->
                            new PackAnswer.Unconfirmed("the bucket has not told what packs there are, or not for long: " + failureCause));
                }
                case SearchResult.NotFound _ -> {
                    return damaged.orElseGet(() -> state.isSurelyAbsent(id) ? PackAnswer.ABSENT : PackAnswer.NOT_PACKED);
                }
                case SearchResult.PackLost _ -> {} // it is remembered: the next look passes that pack by
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
                            continue; // that pack is passed by now: another one may have the entry, too
                        }
                        return damaged.get();
                    }
                    if (isLast) {
                        continue; // a lost pack is passed by, too
                    }
                }
            }
            if (isLast) {
                return damaged.orElse(PackAnswer.NOT_PACKED);
            }
            refreshAfterLoss(store, seen, found instanceof SearchResult.NotFound ? LostPacks.FORGET : LostPacks.KEEP);
            pass++;
        }
    }

    /** True where a pack that is there now has an entry of that id; false where nobody can say. An index alone may be of a pack that was removed. */
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

    /** A mark for {@link #confirm}: what is read from now on is newer. */
    long mark() {
        return fullReadsBegun.get();
    }

    /**
     * Sees to it that the manifest that is known is one to which a process with an empty directory has come since the {@linkplain #mark mark}.
     *
     * @return false if the bucket does not say which one that is
     */
    boolean confirm(long mark, ObjectStore store) {
        if (lastFullRead <= mark && beginReading(store)) {
            try {
                if (lastFullRead <= mark) {
                    readNewest(store, PackManifest.NONE, LostPacks.FORGET);
                }
            } finally {
                readLock.unlock();
            }
        }
        return lastFullRead > mark;
    }

    /** The outcome of {@link #unseal}. */
    sealed interface Unsealed {
        /** Look-ups ask for entries outside of packs. */
        record Done() implements Unsealed {}

        /** They do not. */
        record Failed(String cause) implements Unsealed {}

        /** Nobody can say. */
        record Unknown(String cause) implements Unsealed {}
    }

    /**
     * Commits that entries may lie outside of packs, unless that is so, after one was written there. The bucket is asked afterwards, and not what is known
     * from before: another process may have sealed the target a moment ago, or be about to, and have listed before that entry was there.
     */
    Unsealed unseal(ObjectStore store) {
        long mark = mark();
        Optional<TargetPackState> ignored = state(store); // reads the manifest if none is known
        boolean isFresh = lastFullRead > mark; // asked before the manifest is taken, which is then at least as new
        PackManifest known = known();
        Optional<Boolean> isNewest = isFresh ? Optional.of(true) : logs.apply(store).isNewest(known);
        if (isNewest.isEmpty()) {
            hasWrittenUnpacked = true;
            return new Unsealed.Unknown("the bucket does not say whether look-ups ask for entries outside of packs");
        }
        if (isNewest.get() && known.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE) {
            return new Unsealed.Done();
        }
        Unsealed unsealed = commitUnsealed(store);
        refresh(store);
        return unsealed;
    }

    private Unsealed commitUnsealed(ObjectStore store) {
        PackManifestLog.Committed committed = logs.apply(store)
                .commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE ? Optional.empty() : Optional.of(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return switch (committed) {
            case PackManifestLog.Committed.Done _, PackManifestLog.Committed.Overtaken _ -> new Unsealed.Done();
            case PackManifestLog.Committed.Failed failed -> new Unsealed.Failed(failed.cause());
            case PackManifestLog.Committed.Unknown unknown -> new Unsealed.Failed(unknown.cause());
        };
    }

    /** Whether a pack is in the bucket. */
    public enum Presence { THERE, GONE, UNKNOWN }

    /** Asks the bucket for a pack: an index that is kept on this machine tells nothing of it. One of another length is as good as gone. */
    public static Presence presence(PackInfo pack, TargetLayout keys, ObjectStore store) {
        return switch (store.head(keys.pack(pack.name()))) {
            case HeadResult.Found found -> found.bytes() == pack.bytes() ? Presence.THERE : Presence.GONE;
            case HeadResult.Absent _ -> Presence.GONE;
            case HeadResult.Unavailable unavailable -> AbsenceVerifier.isAbsent(unavailable.failure(), keys.pack(pack.name()), store, keys) ? Presence.GONE : Presence.UNKNOWN;
        };
    }

    /** True where the packs have an entry of that id, as far as is known without a request. */
    boolean isKnown(Id id) {
        TargetPackState state = current;
        return state != null && state.manifest().packs().stream().anyMatch(pack ->
                state.mayHave(pack, id.hash()) && state.index(pack).flatMap(index -> index.find(id.hash())).isPresent());
    }

    /** True if a look-up met a pack that is not there, since the manifest was read. */
    boolean hasLostPack() {
        TargetPackState state = current;
        return state != null && state.hasLostPack();
    }

    /** Where an id's entry is. */
    private sealed interface SearchResult {
        record InPack(PackInfo pack, PackLocation location) implements SearchResult {}

        record NotFound() implements SearchResult {}

        /** In none that can be read, and one that may have had it has just proved to be missing. */
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

    /** The entry at a place; empty where the pack is not what the index says, which is remembered. */
    private Optional<PackAnswer> read(TargetPackState state, SearchResult.InPack in, Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        PackLocation location = in.location();
        return switch (store.range(keys.pack(in.pack().name()), location.offset(), location.length())) {
            case GetResult.Found found -> Optional.of(answer(state, in, decoder.apply(found.bytes())));
            case GetResult.Absent _ -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.TooLarge _ -> {
                state.markDamaged(in.pack(), location.id());
                yield Optional.of(new PackAnswer.Damaged(DamageKind.EXTENDED, "the server sent more of pack " + in.pack().name() + " than was asked for"));
            }
            case GetResult.Unavailable unavailable when isGone(unavailable.failure(), in.pack(), keys, store) -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.Unavailable unavailable -> Optional.of(new PackAnswer.Unavailable(unavailable.failure().toString()));
        };
    }

    /** True if the pack is not there, or too short. */
    private static boolean isGone(StoreFailure failure, PackInfo pack, TargetLayout keys, ObjectStore store) {
        return failure.status() == NOT_SATISFIABLE || AbsenceVerifier.isAbsent(failure, keys.pack(pack.name()), store, keys);
    }

    private static PackAnswer answer(TargetPackState state, SearchResult.InPack in, LoadResult decoded) {
        return switch (decoded) {
            case LoadResult.Hit hit -> new PackAnswer.Hit(hit.entry());
            case LoadResult.Damaged bad -> {
                state.markDamaged(in.pack(), in.location().id());
                yield new PackAnswer.Damaged(bad.damage(), "in pack " + in.pack().name() + ": " + bad.detail());
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ -> throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }

    /** The outcome of coming by an index. */
    public sealed interface IndexResult {
        record Ok(PackIndex index) implements IndexResult {}

        /** The pack is not there, or its index is damaged. */
        record Lost(String cause) implements IndexResult {}

        /** The pack is not there, or must not be read: a server that lets nobody list answers both alike. */
        record Forbidden(StoreFailure failure) implements IndexResult {
            public String cause() {
                return "it is not there, or must not be read: " + failure;
            }
        }

        /** A newer version of Granary wrote it, for those who can read it. */
        record Newer(String cause) implements IndexResult {}

        record Unavailable(StoreFailure failure) implements IndexResult {}
    }

    private IndexResult index(TargetPackState state, PackInfo pack, ObjectStore store) {
        Optional<PackIndex> known = state.index(pack);
        if (known.isPresent()) {
            return new IndexResult.Ok(known.get());
        }
        if (!beginReading(store)) {
            return new IndexResult.Unavailable(StoreFailure.of(StoreFailure.Kind.TIMEOUT, "the index of a pack is being read, and that takes too long"));
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
            readLock.unlock();
        }
    }

    /** The index of a pack from the shelf, else from the bucket, and then on the shelf. */
    public static IndexResult fetchIndex(PackInfo pack, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        Optional<byte[]> kept = indexCache.encodedIndex(pack);
        if (kept.isPresent()) {
            if (PackIndex.decode(kept.get(), pack.indexOffset(), keys.namespace()) instanceof PackIndex.Read.Ok ok && pack.isIndexedBy(ok.index())) {
                return new IndexResult.Ok(ok.index());
            }
            indexCache.remove(pack.name());
        }
        return switch (store.range(keys.pack(pack.name()), pack.indexOffset(), pack.indexBytes())) {
            case GetResult.Found found -> {
                byte[] encodedIndex = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                yield switch (PackIndex.decode(encodedIndex, pack.indexOffset(), keys.namespace())) {
                    case PackIndex.Read.Ok ok when !pack.isIndexedBy(ok.index()) -> new IndexResult.Lost("its index is that of another pack");
                    case PackIndex.Read.Ok ok -> {
                        indexCache.store(pack, encodedIndex);
                        yield new IndexResult.Ok(ok.index());
                    }
                    case PackIndex.Read.Bad bad when bad.damage() == DamageKind.TOO_NEW -> new IndexResult.Newer("a newer version wrote it: " + bad.detail());
                    case PackIndex.Read.Bad bad -> new IndexResult.Lost("its index is damaged: " + bad.detail());
                };
            }
            case GetResult.Absent _ -> new IndexResult.Lost("it is not there");
            case GetResult.TooLarge _ -> new IndexResult.Lost("the server sent more of it than was asked for");
            case GetResult.Unavailable unavailable when unavailable.failure().status() == NOT_SATISFIABLE -> new IndexResult.Lost("it is too short");
            case GetResult.Unavailable unavailable when isGone(unavailable.failure(), pack, keys, store) ->
                    new IndexResult.Forbidden(unavailable.failure());
            case GetResult.Unavailable unavailable -> new IndexResult.Unavailable(unavailable.failure());
        };
    }

    /** What is known of the packs: from this process, else from the shelf, else from the bucket, for which the caller waits. */
    private Optional<TargetPackState> state(ObjectStore store) {
        if (current == null) {
            if (!beginReading(store)) {
                return Optional.empty();
            }
            try {
                if (current == null) {
                    begin(store);
                }
            } finally {
                readLock.unlock();
            }
        } else if (schedule.isDue(refreshAt) && isRefreshing.compareAndSet(false, true)) {
            refreshInBackground();
        }
        return Optional.ofNullable(current);
    }

    private void begin(ObjectStore store) {
        Optional<PackManifest> kept = indexCache.manifest();
        if (kept.isPresent()) {
            Optional<Long> ago = indexCache.manifestAge(schedule.wallMillis().getAsLong());
            refreshAt = schedule.nextRefresh(ago);
            TargetPackState state = new TargetPackState(kept.get());
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

    /** Forgets what proved wrong, too: a pack that was missing gets another chance once in an interval. */
    private void refresh(ObjectStore store) {
        if (beginReading(store)) {
            try {
                readNewest(store, known(), LostPacks.FORGET);
            } finally {
                readLock.unlock();
            }
        }
    }

    private PackManifest known() {
        TargetPackState state = current;
        return state == null ? PackManifest.NONE : state.manifest();
    }

    /** Reads the manifest again unless somebody has since it was {@code seen}. What proved wrong in this look-up is to be kept, and nothing older. */
    private void refreshAfterLoss(ObjectStore store, long seen, LostPacks lostPacks) {
        if (beginReading(store)) {
            try {
                if (readCount.get() == seen) {
                    readNewest(store, known(), lostPacks);
                }
            } finally {
                readLock.unlock();
            }
        }
    }

    /** What to do about lost packs, which a newer manifest may still name. */
    private enum LostPacks { KEEP, FORGET }

    /**
     * Called with the lock held. Where nobody can say, what is known stays, and is compared again soon.
     *
     * @param from where to search from; {@link PackManifest#NONE} to do as a process does that knows nothing
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

    private static TargetPackState confirmed(@Nullable TargetPackState known, PackManifest newest, LostPacks lostPacks) {
        if (known == null || !known.isKnown()) {
            return new TargetPackState(newest);
        }
        if (lostPacks == LostPacks.FORGET) {
            return known.next(newest);
        }
        return newest == known.manifest() ? known : known.nextWithLostPacks(newest);
    }

    /** After this process wrote outside of packs, another one that had not seen that may have committed that nothing lies there. */
    private void unsealIfWritten(PackManifest newest, ObjectStore store) {
        if (hasWrittenUnpacked && newest.number() > 0) {
            hasWrittenUnpacked = newest.unpackedEntries() != PackManifest.UnpackedEntries.POSSIBLE && !(commitUnsealed(store) instanceof Unsealed.Done);
        }
    }

    /** Takes the lock, if that is possible before it would be too late for {@code store} to send anything. */
    private boolean beginReading(ObjectStore store) {
        long timeout = schedule.timeout().toNanos();
        try {
            return readLock.tryLock(store instanceof DeadlineBound limited ? Math.min(timeout, limited.roomNanos()) : timeout, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
