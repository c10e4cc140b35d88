package dev.granary.local;

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
final class SegmentStore {
    private static final long LOOKUP_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long SWEEP_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Map<Path, SegmentStore> SHARED = new HashMap<>();
    private static final ThreadLocal<@Nullable Patience> PATIENCE = new ThreadLocal<>(); // of the store that a thread is at

    private final Path directory;
    private final Layout layout;
    private final long boot;
    private final Step.Listener steps;
    private final CommitQueue queue = new CommitQueue();
    private final ReentrantLock sweeper = new ReentrantLock();
    private volatile @Nullable StoreFiles files;
    private volatile long waitNanos; // the longest of those who share the store
    private volatile boolean sweepWanted;
    private volatile boolean released;
    private int users; // guarded by SHARED

    /** A change of the store, made under the lock. */
    @FunctionalInterface
    interface Change {
        /** Makes the change; what is returned is up to the caller. */
        boolean make(StoreFiles files) throws IOException;
    }

    private SegmentStore(Path directory, long boot, Step.Listener steps) {
        this.directory = directory;
        this.layout = new Layout(directory);
        this.boot = boot;
        this.steps = steps;
    }

    /** The same, with the usual deadline. */
    static SegmentStore share(Path directory, long boot, Step.Listener steps) {
        return share(directory, boot, steps, LocalConfig.DEFAULT_STORE_TIMEOUT);
    }

    /**
     * The store in that directory; {@link #release} it.
     *
     * @param boot the mark of this start of the machine
     * @param timeout how long a change waits for others; the longest of those who share the store counts
     */
    static SegmentStore share(Path directory, long boot, Step.Listener steps, Duration timeout) {
        synchronized (SHARED) {
            SegmentStore store = SHARED.computeIfAbsent(directory, key -> new SegmentStore(key, boot, steps));
            store.users++;
            store.waitNanos = Math.max(store.waitNanos, timeout.toNanos());
            return store;
        }
    }

    /** Gives the store back. */
    void release() {
        synchronized (SHARED) {
            if (--users == 0) {
                SHARED.remove(directory);
                released = true; // work that was left in an executor finds nothing to do
                StoreFiles open = files;
                files = null;
                if (open != null) {
                    open.close();
                }
            }
        }
    }

    Layout layout() {
        return layout;
    }

    Step.Listener steps() {
        return steps;
    }

    /** The files, for reading; null where nothing was stored yet. */
    @Nullable StoreFiles files() throws IOException {
        if (released) {
            return null;
        }
        StoreFiles open = files;
        return open != null && !open.state().isLost() && isSetUp(open) ? open : openForReading();
    }

    /**
     * The files, for reading, with counts that were counted again where they cannot be right, or where no change was made since the machine
     * started: after a power cut they may be of another moment than the index. Null where nothing was stored yet.
     */
    @Nullable StoreFiles countedFiles() throws IOException {
        StoreFiles open = files();
        if (open != null && open.state().isWritable() && !(isInOrder(open) && Recovery.hasPlausibleCounts(open.state()))) {
            try {
                changeSoon(_ -> true);
            } catch (CommitQueue.BusyException e) {
                return open; // who has the lock counts again
            }
        }
        return open;
    }

    /** The files, for writing; creates them. Changes check that they are still the ones in the directory. */
    StoreFiles filesToWrite() throws IOException {
        StoreFiles open = files;
        return open != null && open.state().isWritable() && !open.state().isLost() ? open : openForWriting();
    }

    /** True where the state was put in order since the machine started: before that it says nothing of where to write. */
    boolean isInOrder(StoreFiles open) {
        return isSetUp(open) && open.state().get(State.BOOT) == boot;
    }

    /** Puts in order what a look-up could not read: an index that is missing, a file that was cut under its mapping. */
    void repair() throws IOException {
        StoreFiles broken = files;
        if (broken != null) {
            broken.forget();
            if (broken.state().isWritable()) {
                changeSoon(_ -> true);
            }
        }
    }

    /** Lets go of the mappings of segments that were cut. */
    void dropCutSegments() throws IOException {
        StoreFiles open = files;
        if (open != null) {
            open.segments().dropCut();
        }
    }

    /** True once after something was found that a sweep should put in order. */
    boolean takeSweepWanted() {
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
     * @throws CommitQueue.BusyException if the lock cannot be had in time
     * @throws IOException if the directory cannot be written, or what the change threw
     */
    boolean change(Change change) throws IOException {
        return change(sweeper.isHeldByCurrentThread() ? new Patience(SWEEP_NANOS) : patience(), change);
    }

    /** What is left of the patience of the store that this thread is at, or that of a change alone where it is at none. */
    Patience patience() {
        Patience known = PATIENCE.get();
        return known == null ? new Patience(waitNanos) : known;
    }

    /** Runs an operation of this thread all of whose waits for others are together as long as one may be. */
    <T> T withPatience(Supplier<T> operation) {
        Patience outer = PATIENCE.get();
        PATIENCE.set(new Patience(waitNanos));
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
        return change(new Patience(Math.min(LOOKUP_NANOS, waitNanos)), change);
    }

    private boolean change(Patience allowed, Change change) throws IOException {
        try (InterruptShield _ = new InterruptShield(); Wait wait = new Wait(allowed); CommitQueue.Turn _ = queue.enter(wait)) {
            StoreFiles open = openForWriting();
            try (FileLock _ = queue.lock(open.state(), wait, waitNanos)) {
                wait.end();
                steps.done(Step.LOCKED);
                if (Recovery.begin(open, boot, steps)) {
                    sweepWanted = true;
                }
                open.state().set(State.CHANGING, 1);
                steps.done(Step.MARKED);
                boolean result = change.make(open);
                open.state().set(State.CHANGING, 0); // after an exception the mark stays, and the next holder counts again
                return result;
            }
        }
    }

    /** True while a thread of this process sweeps. */
    boolean isSweeping() {
        return sweeper.isLocked();
    }

    /** How many changes all processes have begun so far; 0 where nothing was stored yet. */
    long changes() throws IOException {
        StoreFiles open = files();
        return open == null ? 0 : open.state().get(State.CHANGES);
    }

    /** Runs {@code work} unless another thread or process is sweeping; returns whether it ran. */
    boolean sweepAlone(Runnable work) throws IOException {
        if (!sweeper.tryLock()) {
            return false;
        }
        try (InterruptShield _ = new InterruptShield()) {
            StoreFiles open = files();
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

    private @Nullable StoreFiles openForReading() throws IOException {
        if (!Layout.isThere(layout.state())) {
            return null;
        }
        try {
            StoreFiles open = filesToWrite();
            if (!isSetUp(open)) {
                changeSoon(_ -> true); // sets it up
            }
            return isSetUp(open) ? open : null;
        } catch (CommitQueue.BusyException e) {
            return null;
        } catch (FileSystemException e) {
            if (!isReadOnly(e)) {
                throw e;
            }
        }
        synchronized (this) {
            State state = files == null ? State.openForReading(layout.state()) : null;
            if (state != null && state.get(State.MARK) == State.MAGIC) {
                files = new StoreFiles(layout, state);
            }
            return files;
        }
    }

    /** A page that another is setting up, or that rotted or was cut, says nothing yet. */
    private static boolean isSetUp(StoreFiles open) {
        try {
            return open.state().get(State.MARK) == State.MAGIC;
        } catch (InternalError e) {
            return false; // cut under the mapping
        }
    }

    private StoreFiles openForWriting() throws IOException {
        if (released) {
            throw new IOException("the local store on " + directory + " is closed");
        }
        StoreFiles known = files;
        if (known != null && canChange(known)) {
            return known;
        }
        synchronized (this) {
            known = files;
            if (known != null && canChange(known)) {
                return known;
            }
            Files.createDirectories(layout.segments(), DirectoryCheck.privateDirectory(directory));
            StoreFiles open = StoreFiles.openForWriting(layout);
            files = open;
            if (known != null) {
                known.close();
            }
            return open;
        }
    }

    private boolean canChange(StoreFiles open) throws IOException {
        return open.state().isWritable() && !open.state().isLost() && open.state().restore(layout.state());
    }

    /** True where an exception says that this directory cannot be written, as opposed to a disk that is full or fails. */
    boolean isReadOnly(IOException cause) {
        try {
            return cause instanceof AccessDeniedException || Files.getFileStore(Objects.requireNonNull(directory)).isReadOnly();
        } catch (IOException e) {
            return false;
        }
    }
}
