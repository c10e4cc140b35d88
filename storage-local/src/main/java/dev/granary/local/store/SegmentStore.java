package dev.granary.local.store;

import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.file.InterruptGuard;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Store of one directory in this process. Makes changes one at a time under the lock that all
 * processes share; {@link StoreOpener} opens the files. Thread-safe.
 *
 * <p>One instance per directory and process. The system releases a process's locks on a file when
 * any of its channels on that file is closed. Java rejects a second lock of one region in one
 * process.
 */
public final class SegmentStore {
    private static final long LOOKUP_TIMEOUT_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long SWEEP_TIMEOUT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Map<Path, SegmentStore> SHARED = new HashMap<>();
    // of the store operation that a thread is running
    private static final ThreadLocal<@Nullable RemainingTime> REMAINING = new ThreadLocal<>();

    private final Path directory;
    private final StoreLayout layout;
    private final StoreOpener opener;
    private final long boot;
    private final StoreStep.Listener steps;
    private final CommitLockQueue queue = new CommitLockQueue();
    private final ReentrantLock sweeper = new ReentrantLock();
    private volatile long timeoutNanos; // the longest timeout of its users
    private volatile boolean sweepRequested;
    private int users; // guarded by SHARED

    /** Change of the store, made under the commit lock. */
    @FunctionalInterface
    public interface Change {
        /** Makes the change; the caller defines the result. */
        boolean make(OpenStoreFiles files) throws IOException;
    }

    private SegmentStore(Path directory, long boot, StoreStep.Listener steps) {
        this.directory = directory;
        this.layout = new StoreLayout(directory);
        this.opener = new StoreOpener(directory, layout);
        this.boot = boot;
        this.steps = steps;
    }

    /** Returns the store in a directory, with the default timeout. */
    public static SegmentStore share(Path directory, long boot, StoreStep.Listener steps) {
        return share(directory, boot, steps, LocalTierConfig.DEFAULT_STORE_TIMEOUT);
    }

    /**
     * Returns the shared store in a directory; callers must {@link #release} it.
     *
     * @param boot the mark of this boot of the machine
     * @param timeout maximum time that a change waits for others; the longest of all users applies
     */
    public static SegmentStore share(
            Path directory, long boot, StoreStep.Listener steps, Duration timeout) {
        synchronized (SHARED) {
            SegmentStore store =
                    SHARED.computeIfAbsent(directory, key -> new SegmentStore(key, boot, steps));
            store.users++;
            store.timeoutNanos = Math.max(store.timeoutNanos, timeout.toNanos());
            return store;
        }
    }

    /** Releases the store. */
    public void release() {
        synchronized (SHARED) {
            if (--users == 0) {
                SHARED.remove(directory);
                opener.close();
            }
        }
    }

    public StoreLayout layout() {
        return layout;
    }

    public StoreStep.Listener steps() {
        return steps;
    }

    /** Returns the files for reading, or null if nothing was stored yet. */
    public @Nullable OpenStoreFiles files() throws IOException {
        if (opener.isClosed()) {
            return null;
        }
        OpenStoreFiles open = opener.currentForReading();
        return open == null ? openForReading() : open;
    }

    /**
     * Returns the files for reading, or null if nothing was stored yet. Implausible counts are
     * recounted. So are counts without a change since the boot: after a power cut they may be of
     * another moment than the index.
     */
    public @Nullable OpenStoreFiles countedFiles() throws IOException {
        OpenStoreFiles open = files();
        if (open != null
                && open.state().isWritable()
                && !(isRecovered(open) && StoreRecovery.hasPlausibleCounts(open.state()))) {
            try {
                changeBriefly(_ -> true);
            } catch (CommitLockQueue.BusyException e) {
                return open; // the holder of the lock recounts
            }
        }
        return open;
    }

    /**
     * Returns the files for writing, and creates them. Changes check that they are still the ones
     * in the directory.
     */
    OpenStoreFiles filesForWriting() throws IOException {
        return opener.forWriting();
    }

    /**
     * Returns whether the state page was recovered since the machine started: before that its
     * append position is not valid.
     */
    boolean isRecovered(OpenStoreFiles open) {
        return StoreOpener.isInitialised(open) && open.state().get(StatePage.BOOT) == boot;
    }

    /**
     * Repairs what a lookup could not read: a missing index, a file that was truncated under its
     * mapping.
     */
    void repair() throws IOException {
        OpenStoreFiles broken = opener.current();
        if (broken != null) {
            broken.discardMappings();
            if (broken.state().isWritable()) {
                changeBriefly(_ -> true);
            }
        }
    }

    /** Discards the mappings of truncated segments. */
    void dropCutSegments() throws IOException {
        OpenStoreFiles open = opener.current();
        if (open != null) {
            open.segments().dropCut();
        }
    }

    /** Returns true once after a recovery found something that a sweep should put in order. */
    public boolean takeSweepRequest() {
        boolean requested = sweepRequested;
        if (requested) {
            sweepRequested = false;
        }
        return requested;
    }

    /**
     * Makes a change under the lock, after an unfinished change of an earlier holder was recovered.
     * A sweep waits longer than others: if it failed, all would wait for the space that it
     * reclaims.
     *
     * @throws CommitLockQueue.BusyException if the lock is not acquired in time
     * @throws IOException if the directory cannot be written, or if the change throws it
     */
    public boolean change(Change change) throws IOException {
        return change(
                sweeper.isHeldByCurrentThread()
                        ? new RemainingTime(SWEEP_TIMEOUT_NANOS)
                        : remainingTime(),
                change);
    }

    /**
     * Returns the remaining wait time of this thread's store operation, or the timeout of a single
     * change if there is none.
     */
    public RemainingTime remainingTime() {
        RemainingTime current = REMAINING.get();
        return current == null ? new RemainingTime(timeoutNanos) : current;
    }

    /** Runs an operation of this thread with one timeout for all its waits together. */
    public <T> T withSharedTimeout(Supplier<T> operation) {
        RemainingTime outer = REMAINING.get();
        REMAINING.set(new RemainingTime(timeoutNanos));
        try {
            return operation.get();
        } finally {
            if (outer == null) {
                REMAINING.remove();
            } else {
                REMAINING.set(outer);
            }
        }
    }

    /** Makes a change for a lookup, which waits at most 250 ms. */
    boolean changeBriefly(Change change) throws IOException {
        return change(new RemainingTime(Math.min(LOOKUP_TIMEOUT_NANOS, timeoutNanos)), change);
    }

    private boolean change(RemainingTime allowed, Change change) throws IOException {
        try (InterruptGuard _ = new InterruptGuard();
                BoundedWait wait = new BoundedWait(allowed);
                CommitLockQueue.Turn _ = queue.awaitTurn(wait)) {
            OpenStoreFiles open = opener.forChange();
            try (FileLock _ = queue.lock(open.state(), wait, timeoutNanos)) {
                wait.end();
                steps.done(StoreStep.LOCKED);
                if (StoreRecovery.recoverIfNeeded(open, boot, steps)) {
                    sweepRequested = true;
                }
                open.state().set(StatePage.CHANGE_IN_PROGRESS, 1);
                steps.done(StoreStep.MARKED);
                boolean result = change.make(open);
                // after an exception the mark stays, and the next holder recounts
                open.state().set(StatePage.CHANGE_IN_PROGRESS, 0);
                return result;
            }
        }
    }

    /** Returns whether a thread of this process is sweeping. */
    public boolean isSweeping() {
        return sweeper.isLocked();
    }

    /**
     * Returns the number of changes that all processes have begun so far, or 0 if nothing was
     * stored yet.
     */
    public long changes() throws IOException {
        OpenStoreFiles open = files();
        return open == null ? 0 : open.state().get(StatePage.CHANGES);
    }

    /** Runs {@code work} unless another thread or process is sweeping; returns whether it ran. */
    public boolean runSweep(Runnable work) throws IOException {
        if (!sweeper.tryLock()) {
            return false;
        }
        try (InterruptGuard _ = new InterruptGuard()) {
            OpenStoreFiles open = files();
            if (open == null || !open.state().isWritable()) {
                return true; // nothing to sweep, or read-only
            }
            try (FileLock lock = open.state().trySweepLock()) {
                if (lock != null) {
                    work.run();
                }
                return lock != null;
            }
        } finally {
            sweeper.unlock();
        }
    }

    private @Nullable OpenStoreFiles openForReading() throws IOException {
        if (!StoreLayout.exists(layout.state())) {
            return null;
        }
        try {
            OpenStoreFiles open = filesForWriting();
            if (!StoreOpener.isInitialised(open)) {
                changeBriefly(_ -> true); // initialises it
            }
            return StoreOpener.isInitialised(open) ? open : null;
        } catch (CommitLockQueue.BusyException e) {
            return null;
        } catch (FileSystemException e) {
            if (!isReadOnly(e)) {
                throw e;
            }
        }
        return opener.readOnly();
    }

    /**
     * Returns whether an exception means that this directory is read-only, as opposed to a disk
     * that is full or fails.
     */
    public boolean isReadOnly(IOException cause) {
        return opener.isReadOnly(cause);
    }
}
