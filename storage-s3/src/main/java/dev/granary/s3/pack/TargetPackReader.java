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
    private static final int LOOKS = 2;

    /** In how many packs more an entry is looked for that is damaged in one. */
    private static final int MAX_COPIES = 3;

    private final ObjectStore background;
    private final TargetLayout keys;
    private final PackIndexCache shelf;
    private final RefreshSchedule intervals;
    private final Function<ObjectStore, PackManifestLog> logs;
    private final Executor executor;
    private final ReentrantLock reading = new ReentrantLock();
    private final AtomicBoolean isRefreshing = new AtomicBoolean();
    private volatile @Nullable TargetPackState current;
    private volatile boolean hasFailed; // to read the manifest, the last time
    private volatile boolean hasWrittenAlone;
    private volatile String trouble = "";
    private final AtomicLong freshBegun = new AtomicLong(); // readings of the newest manifest from nothing; counted with the lock held
    private volatile long freshDone; // the last of them that succeeded
    private volatile long refreshAt;
    private final AtomicLong readings = new AtomicLong(); // how often the manifest was read; counted with the lock held

    TargetPackReader(ObjectStore background, TargetLayout keys, PackIndexCache shelf, RefreshSchedule intervals,
            Function<ObjectStore, PackManifestLog> logs, Executor executor) {
        this.background = background;
        this.keys = keys;
        this.shelf = shelf;
        this.intervals = intervals;
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
        return load(hash, stored -> keys.inItsPlace(EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), hash), store);
    }

    private PackAnswer load(Sha256 id, Function<MemorySegment, LoadResult> decoder, ObjectStore store) {
        Optional<PackAnswer> damaged = Optional.empty();
        int look = 1;
        int copies = 0;
        while (true) {
            boolean isLast = look == LOOKS;
            long seen = readings.get();
            TargetPackState catalogue = catalogue(store).orElse(null);
            if (catalogue == null) {
                return new PackAnswer.Unconfirmed("the manifest of packs is being read, and that takes too long");
            }
            boolean isOld = intervals.isOutOfDate(catalogue.confirmedAt());
            Found found = find(catalogue, id, store);
            switch (found) {
                case Found.Nowhere _ when !isLast && isOld && (!hasFailed || intervals.isDue(refreshAt)) -> {} // it may be in a pack that was published since
                case Found.Nowhere _ when !catalogue.isTold() || isOld -> {
                    return damaged.orElseGet(() ->
                            new PackAnswer.Unconfirmed("the bucket has not told what packs there are, or not for long: " + trouble));
                }
                case Found.Nowhere _ -> {
                    return damaged.orElseGet(() -> catalogue.isSurelyAbsent(id) ? PackAnswer.ABSENT : PackAnswer.NOT_PACKED);
                }
                case Found.Lost _ -> {} // it is remembered: the next look passes that pack by
                case Found.Unsaid unsaid -> {
                    return new PackAnswer.Unavailable(unsaid.failure().toString());
                }
                case Found.In in -> {
                    Optional<PackAnswer> answer = read(catalogue, in, decoder, store);
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
            refreshAfterLoss(store, seen, found instanceof Found.Nowhere ? Lost.FORGET : Lost.KEEP);
            look++;
        }
    }

    /** True where a pack that is there now has an entry of that id; false where nobody can say. An index alone may be of a pack that was removed. */
    boolean holds(Id id, ObjectStore store) {
        TargetPackState catalogue = catalogue(store).orElse(null);
        while (catalogue != null && find(catalogue, id.hash(), store) instanceof Found.In in) {
            if (catalogue.isWhole(in.pack())) {
                return true;
            }
            switch (presence(in.pack(), keys, store)) {
                case THERE -> {
                    catalogue.whole(in.pack());
                    return true;
                }
                case GONE -> catalogue.lost(in.pack()); // another pack may have the entry, too
                case UNKNOWN -> {
                    return false;
                }
            }
        }
        return false;
    }

    /** A mark for {@link #confirm}: what is read from now on is newer. */
    long mark() {
        return freshBegun.get();
    }

    /**
     * Sees to it that the manifest that is known is one to which a process with an empty directory has come since the {@linkplain #mark mark}.
     *
     * @return false if the bucket does not say which one that is
     */
    boolean confirm(long mark, ObjectStore store) {
        if (freshDone <= mark && beginReading(store)) {
            try {
                if (freshDone <= mark) {
                    readNewest(store, PackManifest.NONE, Lost.FORGET);
                }
            } finally {
                reading.unlock();
            }
        }
        return freshDone > mark;
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
        Optional<TargetPackState> ignored = catalogue(store); // reads the manifest if none is known
        boolean isFresh = freshDone > mark; // asked before the manifest is taken, which is then at least as new
        PackManifest known = known();
        Optional<Boolean> isNewest = isFresh ? Optional.of(true) : logs.apply(store).isNewest(known);
        if (isNewest.isEmpty()) {
            hasWrittenAlone = true;
            return new Unsealed.Unknown("the bucket does not say whether look-ups ask for entries outside of packs");
        }
        if (isNewest.get() && known.loose() == PackManifest.Loose.ALLOWED) {
            return new Unsealed.Done();
        }
        Unsealed unsealed = commitUnsealed(store);
        refresh(store);
        return unsealed;
    }

    private Unsealed commitUnsealed(ObjectStore store) {
        PackManifestLog.Committed committed = logs.apply(store)
                .commit(base -> base.loose() == PackManifest.Loose.ALLOWED ? Optional.empty() : Optional.of(base.saying(PackManifest.Loose.ALLOWED)));
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
            case HeadResult.Unavailable lost -> AbsenceVerifier.isMeantBy(lost.failure(), keys.pack(pack.name()), store, keys) ? Presence.GONE : Presence.UNKNOWN;
        };
    }

    /** True where the packs have an entry of that id, as far as is known without a request. */
    boolean isKnown(Id id) {
        TargetPackState catalogue = current;
        return catalogue != null && catalogue.manifest().packs().stream().anyMatch(pack ->
                catalogue.mayHave(pack, id.hash()) && catalogue.index(pack).flatMap(index -> index.find(id.hash())).isPresent());
    }

    /** True if a look-up met a pack that is not there, since the manifest was read. */
    boolean hasLost() {
        TargetPackState catalogue = current;
        return catalogue != null && catalogue.hasLost();
    }

    /** Where an id's entry is. */
    private sealed interface Found {
        record In(PackInfo pack, PackLocation place) implements Found {}

        record Nowhere() implements Found {}

        /** In none that can be read, and one that may have had it has just proved to be missing. */
        record Lost() implements Found {}

        record Unsaid(StoreFailure failure) implements Found {}
    }

    private Found find(TargetPackState catalogue, Sha256 id, ObjectStore store) {
        boolean isOneLost = false;
        for (PackInfo pack : catalogue.manifest().packs()) {
            if (!catalogue.mayHave(pack, id)) {
                continue;
            }
            switch (index(catalogue, pack, store)) {
                case Indexed.Ok(PackIndex index) -> {
                    Optional<PackLocation> place = index.find(id);
                    if (place.isPresent()) {
                        return new Found.In(pack, place.get());
                    }
                }
                case Indexed.Lost _, Indexed.Forbidden _, Indexed.Newer _ -> {
                    catalogue.lost(pack);
                    isOneLost = true;
                }
                case Indexed.Unsaid unsaid -> {
                    return new Found.Unsaid(unsaid.failure());
                }
            }
        }
        return isOneLost ? new Found.Lost() : new Found.Nowhere();
    }

    /** The entry at a place; empty where the pack is not what the index says, which is remembered. */
    private Optional<PackAnswer> read(TargetPackState catalogue, Found.In in, Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        PackLocation place = in.place();
        return switch (store.range(keys.pack(in.pack().name()), place.offset(), place.length())) {
            case GetResult.Found found -> Optional.of(answer(catalogue, in, decoder.apply(found.bytes())));
            case GetResult.Absent _ -> {
                catalogue.lost(in.pack());
                yield Optional.empty();
            }
            case GetResult.TooLarge _ -> {
                catalogue.bad(in.pack(), place.id());
                yield Optional.of(new PackAnswer.Damaged(DamageKind.EXTENDED, "the server sent more of pack " + in.pack().name() + " than was asked for"));
            }
            case GetResult.Unavailable lost when isGone(lost.failure(), in.pack(), keys, store) -> {
                catalogue.lost(in.pack());
                yield Optional.empty();
            }
            case GetResult.Unavailable lost -> Optional.of(new PackAnswer.Unavailable(lost.failure().toString()));
        };
    }

    /** True if the pack is not there, or too short. */
    private static boolean isGone(StoreFailure failure, PackInfo pack, TargetLayout keys, ObjectStore store) {
        return failure.status() == NOT_SATISFIABLE || AbsenceVerifier.isMeantBy(failure, keys.pack(pack.name()), store, keys);
    }

    private static PackAnswer answer(TargetPackState catalogue, Found.In in, LoadResult decoded) {
        return switch (decoded) {
            case LoadResult.Hit hit -> new PackAnswer.Hit(hit.entry());
            case LoadResult.Damaged bad -> {
                catalogue.bad(in.pack(), in.place().id());
                yield new PackAnswer.Damaged(bad.damage(), "in pack " + in.pack().name() + ": " + bad.detail());
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ -> throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }

    /** The outcome of coming by an index. */
    public sealed interface Indexed {
        record Ok(PackIndex index) implements Indexed {}

        /** The pack is not there, or its index is damaged. */
        record Lost(String cause) implements Indexed {}

        /** The pack is not there, or must not be read: a server that lets nobody list answers both alike. */
        record Forbidden(StoreFailure failure) implements Indexed {
            public String cause() {
                return "it is not there, or must not be read: " + failure;
            }
        }

        /** A newer version of Granary wrote it, for those who can read it. */
        record Newer(String cause) implements Indexed {}

        record Unsaid(StoreFailure failure) implements Indexed {}
    }

    private Indexed index(TargetPackState catalogue, PackInfo pack, ObjectStore store) {
        Optional<PackIndex> known = catalogue.index(pack);
        if (known.isPresent()) {
            return new Indexed.Ok(known.get());
        }
        if (!beginReading(store)) {
            return new Indexed.Unsaid(StoreFailure.of(StoreFailure.Kind.TIMEOUT, "the index of a pack is being read, and that takes too long"));
        }
        try {
            known = catalogue.index(pack);
            if (known.isPresent()) {
                return new Indexed.Ok(known.get());
            }
            Indexed indexed = fetchIndex(pack, keys, shelf, store);
            if (indexed instanceof Indexed.Ok ok) {
                catalogue.add(pack, ok.index());
            }
            return indexed;
        } finally {
            reading.unlock();
        }
    }

    /** The index of a pack from the shelf, else from the bucket, and then on the shelf. */
    public static Indexed fetchIndex(PackInfo pack, TargetLayout keys, PackIndexCache shelf, ObjectStore store) {
        Optional<byte[]> kept = shelf.tail(pack);
        if (kept.isPresent()) {
            if (PackIndex.decode(kept.get(), pack.indexOffset(), keys.namespace()) instanceof PackIndex.Read.Ok ok && pack.isIndexedBy(ok.index())) {
                return new Indexed.Ok(ok.index());
            }
            shelf.forget(pack.name());
        }
        return switch (store.range(keys.pack(pack.name()), pack.indexOffset(), pack.indexBytes())) {
            case GetResult.Found found -> {
                byte[] tail = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                yield switch (PackIndex.decode(tail, pack.indexOffset(), keys.namespace())) {
                    case PackIndex.Read.Ok ok when !pack.isIndexedBy(ok.index()) -> new Indexed.Lost("its index is that of another pack");
                    case PackIndex.Read.Ok ok -> {
                        shelf.keep(pack, tail);
                        yield new Indexed.Ok(ok.index());
                    }
                    case PackIndex.Read.Bad bad when bad.damage() == DamageKind.TOO_NEW -> new Indexed.Newer("a newer version wrote it: " + bad.detail());
                    case PackIndex.Read.Bad bad -> new Indexed.Lost("its index is damaged: " + bad.detail());
                };
            }
            case GetResult.Absent _ -> new Indexed.Lost("it is not there");
            case GetResult.TooLarge _ -> new Indexed.Lost("the server sent more of it than was asked for");
            case GetResult.Unavailable lost when lost.failure().status() == NOT_SATISFIABLE -> new Indexed.Lost("it is too short");
            case GetResult.Unavailable lost when isGone(lost.failure(), pack, keys, store) ->
                    new Indexed.Forbidden(lost.failure());
            case GetResult.Unavailable lost -> new Indexed.Unsaid(lost.failure());
        };
    }

    /** What is known of the packs: from this process, else from the shelf, else from the bucket, for which the caller waits. */
    private Optional<TargetPackState> catalogue(ObjectStore store) {
        if (current == null) {
            if (!beginReading(store)) {
                return Optional.empty();
            }
            try {
                if (current == null) {
                    begin(store);
                }
            } finally {
                reading.unlock();
            }
        } else if (intervals.isDue(refreshAt) && isRefreshing.compareAndSet(false, true)) {
            refreshBehind();
        }
        return Optional.ofNullable(current);
    }

    private void begin(ObjectStore store) {
        Optional<PackManifest> kept = shelf.manifest();
        if (kept.isPresent()) {
            Optional<Long> ago = shelf.confirmedAgo(intervals.wallMillis().getAsLong());
            refreshAt = intervals.nextRefresh(ago);
            TargetPackState catalogue = new TargetPackState(kept.get());
            catalogue.confirmed(intervals.before(ago));
            current = catalogue;
        } else {
            readNewest(store, PackManifest.NONE, Lost.FORGET);
        }
    }

    private void refreshBehind() {
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
                readNewest(store, known(), Lost.FORGET);
            } finally {
                reading.unlock();
            }
        }
    }

    private PackManifest known() {
        TargetPackState catalogue = current;
        return catalogue == null ? PackManifest.NONE : catalogue.manifest();
    }

    /** Reads the manifest again unless somebody has since it was {@code seen}. What proved wrong in this look-up is to be kept, and nothing older. */
    private void refreshAfterLoss(ObjectStore store, long seen, Lost lost) {
        if (beginReading(store)) {
            try {
                if (readings.get() == seen) {
                    readNewest(store, known(), lost);
                }
            } finally {
                reading.unlock();
            }
        }
    }

    /** What to do about lost packs, which a newer manifest may still name. */
    private enum Lost { KEEP, FORGET }

    /**
     * Called with the lock held. Where nobody can say, what is known stays, and is compared again soon.
     *
     * @param from where to search from; {@link PackManifest#NONE} to do as a process does that knows nothing
     */
    private void readNewest(ObjectStore store, PackManifest from, Lost lost) {
        TargetPackState known = current;
        long fresh = from.number() == 0 ? freshBegun.incrementAndGet() : 0;
        switch (logs.apply(store).newest(from)) {
            case PackManifestLog.Newest.Found(PackManifest newest) -> {
                unsealIfWritten(newest, store);
                refreshAt = intervals.nextRefresh(Optional.empty());
                hasFailed = false;
                TargetPackState confirmed = confirmed(known, newest, lost);
                confirmed.confirmed(intervals.now());
                current = confirmed;
                freshDone = Math.max(freshDone, fresh);
                shelf.keep(newest);
            }
            case PackManifestLog.Newest.Unavailable(String cause) -> {
                refreshAt = intervals.nextTry();
                hasFailed = true;
                trouble = cause;
                current = known == null ? TargetPackState.untold() : known;
            }
        }
        readings.incrementAndGet();
    }

    private static TargetPackState confirmed(@Nullable TargetPackState known, PackManifest newest, Lost lost) {
        if (known == null || !known.isTold()) {
            return new TargetPackState(newest);
        }
        if (lost == Lost.FORGET) {
            return known.next(newest);
        }
        return newest == known.manifest() ? known : known.nextKeepingLost(newest);
    }

    /** After this process wrote outside of packs, another one that had not seen that may have committed that nothing lies there. */
    private void unsealIfWritten(PackManifest newest, ObjectStore store) {
        if (hasWrittenAlone && newest.number() > 0) {
            hasWrittenAlone = newest.loose() != PackManifest.Loose.ALLOWED && !(commitUnsealed(store) instanceof Unsealed.Done);
        }
    }

    /** Takes the lock, if that is possible before it would be too late for {@code store} to send anything. */
    private boolean beginReading(ObjectStore store) {
        long patience = intervals.patience().toNanos();
        try {
            return reading.tryLock(store instanceof DeadlineBound limited ? Math.min(patience, limited.remainingNanos()) : patience, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
