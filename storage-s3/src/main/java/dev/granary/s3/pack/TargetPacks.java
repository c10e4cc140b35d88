package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.support.Warnings;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The packs of one target as this process knows them: from memory, the local disk, or the bucket.
 * Thread-safe.
 *
 * <p>A background thread compares the head with the bucket's, once per interval.
 */
final class TargetPacks {
    private final ObjectStore background;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final PackReader.Settings settings;
    private final RefreshSchedule schedule;
    private final Executor executor;
    private final ReentrantLock lock = new ReentrantLock();
    private final AtomicBoolean isRefreshing = new AtomicBoolean();
    private volatile @Nullable State current;

    /**
     * A view, and the time of its next refresh. They change together: with the old view and the new
     * time, a lookup would not read the head again.
     */
    private record State(PackView view, long refreshAt) {}

    TargetPacks(
            ObjectStore background,
            TargetLayout keys,
            PackReader.Settings settings,
            RefreshSchedule schedule,
            Executor executor) {
        this.background = background;
        this.keys = keys;
        this.indexCache = settings.indexCache(keys.namespace());
        this.settings = settings;
        this.schedule = schedule;
        this.executor = executor;
    }

    /**
     * Returns the packs; waits for the bucket if neither memory nor disk has a head.
     *
     * @param store sends the requests of this call
     */
    PackView view(ObjectStore store) {
        State known = current;
        if (known == null) {
            return update(store, null);
        }
        if (schedule.isDue(known.refreshAt) && isRefreshing.compareAndSet(false, true)) {
            refreshInBackground(known.view);
        }
        return known.view;
    }

    /**
     * Returns the packs by a read of the head later than {@code seen}, if the bucket reports it.
     */
    PackView refreshed(ObjectStore store, PackView seen) {
        return update(store, seen);
    }

    /** Returns true if the view is too old to show that an id is absent. */
    boolean isOutOfDate(PackView view) {
        return schedule.isOutOfDate(view.confirmedAt());
    }

    /** Returns true if a lookup should read the head again before it reports an id as absent. */
    boolean isRefreshDue(PackView view) {
        State known = current;
        return (!view.isKnown() || isOutOfDate(view))
                && (known == null || known.view != view || schedule.isDue(known.refreshAt));
    }

    private void refreshInBackground(PackView seen) {
        try {
            executor.execute(() -> {
                try {
                    update(background, seen);
                } finally {
                    isRefreshing.set(false);
                }
            });
        } catch (RejectedExecutionException e) { // closed meanwhile
            isRefreshing.set(false);
        }
    }

    /** Reads the head, unless another thread has since {@code seen}. */
    private PackView update(ObjectStore store, @Nullable PackView seen) {
        if (!tryLock(lock, store)) {
            State known = current;
            return known != null
                    ? known.view
                    : unknown("another lookup reads it, which takes long");
        }
        try {
            State known = current;
            if (known != null && known.view != seen) {
                return known.view;
            }
            State read = known == null ? first(store) : next(store, known.view);
            current = read;
            return read.view;
        } finally {
            lock.unlock();
        }
    }

    private State first(ObjectStore store) {
        Optional<PackIndexCache.CachedHead> cached = indexCache.head();
        if (cached.isPresent()) {
            Register.Stored head = cached.get().stored();
            Optional<Base> base = head.head().base().flatMap(indexCache::base);
            if (base.isPresent() == head.head().base().isPresent()) {
                Optional<Long> ago = Optional.of(
                        schedule.wallMillis().getAsLong() - cached.get().confirmedMillis());
                PackView view = new PackView(
                        Optional.of(head), base, LoadResult.ABSENT, schedule.before(ago));
                return new State(view, schedule.nextRefresh(ago));
            }
        }
        return next(store, unknown(""));
    }

    private static PackView unknown(String cause) {
        return new PackView(
                Optional.empty(),
                Optional.empty(),
                new LoadResult.Unavailable("the head of its packs is not known: " + cause),
                RefreshSchedule.Moment.NEVER);
    }

    private State next(ObjectStore store, PackView known) {
        Register register = settings.register(store, keys.namespace());
        try {
            Optional<Register.Stored> head = known.head().isPresent()
                    ? register.readIfChanged(known.head().get())
                    : register.read();
            RefreshSchedule.Moment now = schedule.now();
            if (head.isEmpty()) {
                indexCache.removeHead();
                return new State(
                        new PackView(head, Optional.empty(), LoadResult.ABSENT, now),
                        schedule.nextRefresh(Optional.empty()));
            }
            PackView view = withBase(register, head.get(), known, now).withIndexesOf(known);
            if (!view.isKnown()) {
                return new State(view, schedule.nextTry());
            }
            indexCache.store(head.get(), view.packs());
            return new State(view, schedule.nextRefresh(Optional.empty()));
        } catch (RegisterException e) {
            return new State(
                    known.isKnown() ? known : unknown(String.valueOf(e.getMessage())),
                    schedule.nextTry());
        }
    }

    private PackView withBase(
            Register register, Register.Stored head, PackView known, RefreshSchedule.Moment now) {
        Optional<Base> base = Optional.empty();
        LoadResult otherwise = LoadResult.ABSENT;
        if (head.head().base().isPresent()) {
            ObjectName name = head.head().base().get();
            base = known.base()
                    .filter(folded -> folded.name().equals(name))
                    .or(() -> indexCache.base(name));
            try {
                if (base.isEmpty()) {
                    base = Optional.of(readBase(register, name));
                    indexCache.store(base.get());
                }
            } catch (RegisterException e) {
                // without its base a target has its recent packs and unpacked entries
                String cause = String.valueOf(e.getMessage());
                otherwise = new LoadResult.Unavailable(cause);
                if (e.isLoss()) {
                    // a deletion makes entries absent, damage does not
                    otherwise = register.store().head(keys.base(name)) instanceof HeadResult.Absent
                            ? LoadResult.ABSENT
                            : new LoadResult.Damaged(DamageKind.CORRUPT, cause);
                    Warnings.warn(
                            "base " + keys.namespace(),
                            "Most packs of " + keys.namespace() + " are not found: " + cause
                                    + "; granary compact --adopt names them");
                }
            }
        }
        return new PackView(Optional.of(head), base, otherwise, now);
    }

    /** Reads a base, twice if it seems lost: a single wrong answer proves nothing. */
    private static Base readBase(Register register, ObjectName name) throws RegisterException {
        try {
            return register.readBase(name);
        } catch (RegisterException e) {
            if (e.isLoss()) {
                return register.readBase(name);
            }
            throw e;
        }
    }

    /** Returns the index of a pack; other lookups wait for the one that reads it. */
    IndexResult index(PackView view, PackInfo pack, ObjectStore store) {
        Optional<IndexResult> known = view.index(pack);
        if (known.isPresent()) {
            return known.get();
        }
        ReentrantLock reading = view.lock(pack);
        if (!tryLock(reading, store)) {
            return new IndexResult.Unavailable(
                    "another lookup is reading the index of a pack, which takes too long");
        }
        try {
            known = view.index(pack);
            if (known.isPresent()) {
                return known.get();
            }
            IndexResult read = PackIndexReader.read(pack, keys, indexCache, store);
            if (!(read instanceof IndexResult.Unavailable)) {
                view.add(pack, read);
            }
            if (read instanceof IndexResult.Lost lost) {
                Warnings.warn(
                        "packs of " + keys.namespace(),
                        "Pack " + pack.name() + " of " + keys.namespace() + " cannot be used: "
                                + lost.cause() + "; granary compact examines it");
            }
            return read;
        } finally {
            reading.unlock();
        }
    }

    /** Takes a lock, unless {@code store} could not send a request in time afterwards. */
    private boolean tryLock(ReentrantLock wanted, ObjectStore store) {
        try {
            return wanted.tryLock(
                    Math.min(schedule.timeout().toNanos(), store.remainingNanos()),
                    TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
