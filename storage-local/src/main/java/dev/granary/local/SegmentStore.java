package dev.granary.local;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One directory's store in this process: opens its files when they are needed and again when somebody removed them, and makes changes one at
 * a time under the lock that all processes share. Thread-safe.
 *
 * <p>One instance per directory and process: the system drops a process's locks on a file when any of its channels on that file is closed,
 * and Java refuses a second lock of one region in one process.
 */
final class SegmentStore {
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long GRUDGE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    private static final Map<Path, SegmentStore> SHARED = new HashMap<>();

    private final Path directory;
    private final Layout layout;
    private final long boot;
    private final Step.Listener steps;
    private final ReentrantLock turn = new ReentrantLock();
    private final ReentrantLock sweeper = new ReentrantLock();
    private volatile @Nullable StoreFiles files;
    private volatile long grudgeUntil = System.nanoTime();
    private volatile boolean sweepWanted;
    private volatile boolean released;
    private int users; // guarded by SHARED

    /** A change of the store, made under the lock. */
    @FunctionalInterface
    interface Change {
        /** Makes the change; what is returned is up to the caller. */
        boolean make(StoreFiles files) throws IOException;
    }

    /** Another process holds the lock and does not move. */
    static final class BusyException extends IOException {
        private static final long serialVersionUID = 1;

        BusyException() {
            super("a process that does not move holds the lock of the local store");
        }
    }

    private SegmentStore(Path directory, long boot, Step.Listener steps) {
        this.directory = directory;
        this.layout = new Layout(directory);
        this.boot = boot;
        this.steps = steps;
    }

    /** The store in that directory; {@link #release} it. {@code boot} is the mark of this start of the machine. */
    static SegmentStore share(Path directory, long boot, Step.Listener steps) {
        synchronized (SHARED) {
            SegmentStore store = SHARED.computeIfAbsent(directory, key -> new SegmentStore(key, boot, steps));
            store.users++;
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
                change(_ -> true);
            }
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
     * Makes a change under the lock; what an earlier holder left unfinished is put in order first.
     *
     * @throws BusyException if the lock cannot be had within a quarter of a second
     * @throws IOException if the directory cannot be written, or what the change threw
     */
    boolean change(Change change) throws IOException {
        try (InterruptShield shield = new InterruptShield()) {
            takeTurn(shield);
            try {
                StoreFiles open = openForWriting();
                open.state().restoreLength(layout.state());
                try (FileLock _ = lock(open.state())) {
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
            } finally {
                turn.unlock();
            }
        }
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

    private void takeTurn(InterruptShield shield) throws BusyException {
        if (!shield.tryLock(turn, PATIENCE_NANOS)) {
            throw new BusyException();
        }
    }

    private FileLock lock(State state) throws IOException {
        long start = System.nanoTime();
        boolean waits = start - grudgeUntil >= 0; // who did not get it a moment ago tries, and does not wait again
        do {
            FileLock lock = state.tryCommitLock();
            if (lock != null) {
                return lock;
            }
            if (!waits) {
                throw new BusyException();
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        } while (System.nanoTime() - start < PATIENCE_NANOS);
        grudgeUntil = System.nanoTime() + GRUDGE_NANOS;
        throw new BusyException();
    }

    private @Nullable StoreFiles openForReading() throws IOException {
        if (!Layout.isThere(layout.state())) {
            return null;
        }
        try {
            StoreFiles open = filesToWrite();
            if (!isSetUp(open)) {
                change(_ -> true); // sets it up
            }
            return isSetUp(open) ? open : null;
        } catch (BusyException e) {
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
            StoreFiles open = new StoreFiles(layout, State.openForWriting(layout.state()));
            files = open;
            if (known != null) {
                known.close();
            }
            return open;
        }
    }

    private boolean canChange(StoreFiles open) throws IOException {
        return open.state().isWritable() && !open.state().isLost() && open.state().isStill(layout.state());
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
