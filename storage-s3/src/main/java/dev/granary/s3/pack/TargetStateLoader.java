package dev.granary.s3.pack;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Loader of the {@linkplain TargetPackState state} of one target's packs: from memory, the local
 * disk, or the bucket. A background thread refreshes the manifest once per interval. Thread-safe.
 */
final class TargetStateLoader {
    private final ObjectStore background;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final RefreshSchedule schedule;
    private final Function<ObjectStore, PackManifestLog> logs;
    private final TargetUnsealer unsealer;
    private final Executor executor;
    private final ReentrantLock fetchLock = new ReentrantLock();
    private final AtomicBoolean isRefreshing = new AtomicBoolean();
    private volatile @Nullable TargetPackState current;
    private volatile boolean hasFailed; // the last read of the manifest
    private volatile String failureCause = "";
    // reads of the newest manifest without a known one; counted with the lock held
    private final AtomicLong fullReadsBegun = new AtomicLong();
    private volatile long lastFullRead; // the last of them that succeeded
    private volatile long lastConfirmed; // the last of them after which the hint was repaired
    private volatile long refreshAt;
    // reads of the manifest; counted with the lock held
    private final AtomicLong readCount = new AtomicLong();

    TargetStateLoader(
            ObjectStore background,
            TargetLayout keys,
            PackIndexCache indexCache,
            RefreshSchedule schedule,
            Function<ObjectStore, PackManifestLog> logs,
            TargetUnsealer unsealer,
            Executor executor) {
        this.background = background;
        this.keys = keys;
        this.indexCache = indexCache;
        this.schedule = schedule;
        this.logs = logs;
        this.unsealer = unsealer;
        this.executor = executor;
    }

    PackIndexReader.IndexResult index(TargetPackState state, PackInfo pack, ObjectStore store) {
        Optional<PackIndex> known = state.index(pack);
        if (known.isPresent()) {
            return new PackIndexReader.IndexResult.Ok(known.get());
        }
        if (!tryFetchLock(store)) {
            return new PackIndexReader.IndexResult.Unavailable(StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT,
                    "another lookup is reading the index of a pack, which takes too long"));
        }
        try {
            known = state.index(pack);
            if (known.isPresent()) {
                return new PackIndexReader.IndexResult.Ok(known.get());
            }
            PackIndexReader.IndexResult indexed =
                    PackIndexReader.read(pack, keys, indexCache, store);
            if (indexed instanceof PackIndexReader.IndexResult.Ok ok) {
                state.add(pack, ok.index());
            }
            return indexed;
        } finally {
            fetchLock.unlock();
        }
    }

    /** Returns a mark for {@link #confirm}: later reads are newer. */
    long mark() {
        return fullReadsBegun.get();
    }

    /**
     * Ensures that the known manifest was read since the {@linkplain #mark mark}, by a search as a
     * process with an empty directory makes it. Makes the hint name it, as far as possible: an
     * older hint would expire before the manifest does. Not for lookups, since it may write the
     * hint.
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

    /**
     * Returns the current state: from memory, the local disk, or the bucket, for which the caller
     * waits.
     */
    Optional<TargetPackState> state(ObjectStore store) {
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
     * interval. Not for lookups, since it may commit a manifest.
     */
    void refresh(ObjectStore store) {
        if (tryFetchLock(store)) {
            try {
                if (readNewest(store, known(), LostPacks.FORGET)) {
                    unsealer.commitIfWritten(known(), store);
                }
            } finally {
                fetchLock.unlock();
            }
        }
    }

    PackManifest known() {
        TargetPackState state = current;
        return state == null ? PackManifest.NONE : state.manifest();
    }

    /** Reads the manifest again, unless another thread has since {@code seen}. */
    void refreshAfterLoss(ObjectStore store, long seen, LostPacks lostPacks) {
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
    enum LostPacks {
        KEEP,
        FORGET
    }

    /**
     * Reads the newest manifest, with the lock held. After a failure the known one stays, and is
     * compared again soon.
     *
     * @param from the manifest to search from; {@link PackManifest#NONE} to search as a new process
     *     does
     * @return false after a failure
     */
    private boolean readNewest(ObjectStore store, PackManifest from, LostPacks lostPacks) {
        TargetPackState known = current;
        long fresh = from.number() == 0 ? fullReadsBegun.incrementAndGet() : 0;
        switch (logs.apply(store).newest(from)) {
            case PackManifestLog.Newest.Found(PackManifest newest) -> {
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
        return !hasFailed;
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

    /** Returns the state without reading anything; empty if there is none yet. */
    Optional<TargetPackState> peek() {
        return Optional.ofNullable(current);
    }

    /** Returns the number of reads of the manifest so far, for {@link #refreshAfterLoss}. */
    long readCount() {
        return readCount.get();
    }

    /** Returns true if the newest manifest was read without a known one since that mark. */
    boolean isReadSince(long mark) {
        return lastFullRead > mark;
    }

    /** Returns true if the manifest was confirmed too long ago to show that an id is absent. */
    boolean isOutOfDate(TargetPackState state) {
        return schedule.isOutOfDate(state.confirmedAt());
    }

    /** Returns true if the last read succeeded, or the next one is due. */
    boolean isReadWorthwhile() {
        return !hasFailed || schedule.isDue(refreshAt);
    }

    /** Returns the cause of the last failed read, for people; empty if there is none. */
    String failureCause() {
        return failureCause;
    }
}
