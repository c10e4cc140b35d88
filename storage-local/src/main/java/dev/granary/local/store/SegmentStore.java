package dev.granary.local.store;

import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.file.InterruptGuard;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One directory's store in this process: opens its files when they are needed and again when somebody removed them, and makes changes one at
 * a time under the lock that all processes share. Thread-safe.
 *
 * <p>One instance per directory and process: the system drops a process's locks on a file when any of its channels on that file is closed,
 * and Java refuses a second lock of one region in one process.
 */
public final class SegmentStore {
    private static final long LOOKUP_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long SWEEP_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Map<Path, SegmentStore> SHARED = new HashMap<>();
    private static final ThreadLocal<@Nullable RemainingTime> PATIENCE = new ThreadLocal<>(); // of the store that a thread is at

    private final Path directory;
    private final StoreLayout layout;
    private final long boot;
    private final StoreStep.Listener steps;
    private final CommitLockQueue queue = new CommitLockQueue();
    private final ReentrantLock sweeper = new ReentrantLock();
    private volatile @Nullable OpenStoreFiles files;
    private volatile long waitNanos; // the longest of those who share the store
    private volatile boolean sweepWanted;
    private volatile boolean released;
    private int users; // guarded by SHARED

    /** A change of the store, made under the lock. */
    @FunctionalInterface
    public interface Change {
        /** Makes the change; what is returned is up to the caller. */
        boolean make(OpenStoreFiles files) throws IOException;
    }

    private SegmentStore(Path directory, long boot, StoreStep.Listener steps) {
        this.directory = directory;
        this.layout = new StoreLayout(directory);
        this.boot = boot;
        this.steps = steps;
    }

    /** The same, with the usual deadline. */
    public static SegmentStore share(Path directory, long boot, StoreStep.Listener steps) {
        return share(directory, boot, steps, LocalTierConfig.DEFAULT_STORE_TIMEOUT);
    }

    /**
     * The store in that directory; {@link #release} it.
     *
     * @param boot the mark of this start of the machine
     * @param timeout how long a change waits for others; the longest of those who share the store counts
     */
    public static SegmentStore share(Path directory, long boot, StoreStep.Listener steps, Duration timeout) {
        synchronized (SHARED) {
            SegmentStore store = SHARED.computeIfAbsent(directory, key -> new SegmentStore(key, boot, steps));
            store.users++;
            store.waitNanos = Math.max(store.waitNanos, timeout.toNanos());
            return store;
        }
    }

    /** Gives the store back. */
    public void release() {
        synchronized (SHARED) {
            if (--users == 0) {
                SHARED.remove(directory);
                released = true; // work that was left in an executor finds nothing to do
                OpenStoreFiles open = files;
                files = null;
                if (open != null) {
                    open.close();
                }
            }
        }
    }

    public StoreLayout layout() {
        return layout;
    }

    public StoreStep.Listener steps() {
        return steps;
    }

    /** The files, for reading; null where nothing was stored yet. */
    public @Nullable OpenStoreFiles files() throws IOException {
        if (released) {
            return null;
        }
        OpenStoreFiles open = files;
        return open != null && !open.state().isLost() && isSetUp(open) ? open : openForReading();
    }

    /**
     * The files, for reading, with counts that were counted again where they cannot be right, or where no change was made since the machine
     * started: after a power cut they may be of another moment than the index. Null where nothing was stored yet.
     */
    public @Nullable OpenStoreFiles countedFiles() throws IOException {
        OpenStoreFiles open = files();
        if (open != null && open.state().isWritable() && !(isInOrder(open) && StoreRecovery.hasPlausibleCounts(open.state()))) {
            try {
                changeSoon(_ -> true);
            } catch (CommitLockQueue.BusyException e) {
                return open; // who has the lock counts again
            }
        }
        return open;
    }

    /** The files, for writing; creates them. Changes check that they are still the ones in the directory. */
    OpenStoreFiles filesToWrite() throws IOException {
        OpenStoreFiles open = files;
        return open != null && open.state().isWritable() && !open.state().isLost() ? open : openForWriting();
    }

    /** True where the state was put in order since the machine started: before that it says nothing of where to write. */
    boolean isInOrder(OpenStoreFiles open) {
        return isSetUp(open) && open.state().get(StatePage.BOOT) == boot;
    }

    /** Puts in order what a look-up could not read: an index that is missing, a file that was cut under its mapping. */
    void repair() throws IOException {
        OpenStoreFiles broken = files;
        if (broken != null) {
            broken.forget();
            if (broken.state().isWritable()) {
                changeSoon(_ -> true);
            }
        }
    }

    /** Lets go of the mappings of segments that were cut. */
    void dropCutSegments() throws IOException {
        OpenStoreFiles open = files;
        if (open != null) {
            open.segments().dropCut();
        }
    }

    /** True once after something was found that a sweep should put in order. */
    public boolean takeSweepWanted() {
        boolean wanted = sweepWanted;
        if (wanted) {
            sweepWanted = false;
        }
        return wanted;
    }

    /**
     * Makes a change under the lock; what an earlier holder left unfinished is put in order first. A sweep waits longer than others: were it
     * refused, all would wait for the room that it gives back.
     *
     * @throws CommitLockQueue.BusyException if the lock cannot be had in time
     * @throws IOException if the directory cannot be written, or what the change threw
     */
    public boolean change(Change change) throws IOException {
        return change(sweeper.isHeldByCurrentThread() ? new RemainingTime(SWEEP_NANOS) : patience(), change);
    }

    /** What is left of the patience of the store that this thread is at, or that of a change alone where it is at none. */
    public RemainingTime patience() {
        RemainingTime known = PATIENCE.get();
        return known == null ? new RemainingTime(waitNanos) : known;
    }

    /** Runs an operation of this thread all of whose waits for others are together as long as one may be. */
    public <T> T withPatience(Supplier<T> operation) {
        RemainingTime outer = PATIENCE.get();
        PATIENCE.set(new RemainingTime(waitNanos));
        try {
            return operation.get();
        } finally {
            if (outer == null) {
                PATIENCE.remove();
            } else {
                PATIENCE.set(outer);
            }
        }
    }

    /** The same for a look-up, which waits for a quarter of a second at most. */
    boolean changeSoon(Change change) throws IOException {
        return change(new RemainingTime(Math.min(LOOKUP_NANOS, waitNanos)), change);
    }

    private boolean change(RemainingTime allowed, Change change) throws IOException {
        try (InterruptGuard _ = new InterruptGuard(); BoundedWait wait = new BoundedWait(allowed); CommitLockQueue.Turn _ = queue.enter(wait)) {
            OpenStoreFiles open = openForWriting();
            try (FileLock _ = queue.lock(open.state(), wait, waitNanos)) {
                wait.end();
                steps.done(StoreStep.LOCKED);
                if (StoreRecovery.begin(open, boot, steps)) {
                    sweepWanted = true;
                }
                open.state().set(StatePage.CHANGING, 1);
                steps.done(StoreStep.MARKED);
                boolean result = change.make(open);
                open.state().set(StatePage.CHANGING, 0); // after an exception the mark stays, and the next holder counts again
                return result;
            }
        }
    }

    /** True while a thread of this process sweeps. */
    public boolean isSweeping() {
        return sweeper.isLocked();
    }

    /** How many changes all processes have begun so far; 0 where nothing was stored yet. */
    public long changes() throws IOException {
        OpenStoreFiles open = files();
        return open == null ? 0 : open.state().get(StatePage.CHANGES);
    }

    /** Runs {@code work} unless another thread or process is sweeping; returns whether it ran. */
    public boolean sweepAlone(Runnable work) throws IOException {
        if (!sweeper.tryLock()) {
            return false;
        }
        try (InterruptGuard _ = new InterruptGuard()) {
            OpenStoreFiles open = files();
            if (open == null || !open.state().isWritable()) {
                return true; // nothing to sweep, or nothing that can be swept
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
        if (!StoreLayout.isThere(layout.state())) {
            return null;
        }
        try {
            OpenStoreFiles open = filesToWrite();
            if (!isSetUp(open)) {
                changeSoon(_ -> true); // sets it up
            }
            return isSetUp(open) ? open : null;
        } catch (CommitLockQueue.BusyException e) {
            return null;
        } catch (FileSystemException e) {
            if (!isReadOnly(e)) {
                throw e;
            }
        }
        synchronized (this) {
            StatePage state = files == null ? StatePage.openForReading(layout.state()) : null;
            if (state != null && state.get(StatePage.MARK) == StatePage.MAGIC) {
                files = new OpenStoreFiles(layout, state);
            }
            return files;
        }
    }

    /** A page that another is setting up, or that rotted or was cut, says nothing yet. */
    private static boolean isSetUp(OpenStoreFiles open) {
        try {
            return open.state().get(StatePage.MARK) == StatePage.MAGIC;
        } catch (InternalError e) {
            return false; // cut under the mapping
        }
    }

    private OpenStoreFiles openForWriting() throws IOException {
        if (released) {
            throw new IOException("the local store on " + directory + " is closed");
        }
        OpenStoreFiles known = files;
        if (known != null && canChange(known)) {
            return known;
        }
        synchronized (this) {
            known = files;
            if (known != null && canChange(known)) {
                return known;
            }
            Files.createDirectories(layout.segments(), DirectoryValidator.privateDirectory(directory));
            OpenStoreFiles open = OpenStoreFiles.openForWriting(layout);
            files = open;
            if (known != null) {
                known.close();
            }
            return open;
        }
    }

    private boolean canChange(OpenStoreFiles open) throws IOException {
        return open.state().isWritable() && !open.state().isLost() && open.state().restore(layout.state());
    }

    /** True where an exception says that this directory cannot be written, as opposed to a disk that is full or fails. */
    public boolean isReadOnly(IOException cause) {
        try {
            return cause instanceof AccessDeniedException || Files.getFileStore(Objects.requireNonNull(directory)).isReadOnly();
        } catch (IOException e) {
            return false;
        }
    }
}
