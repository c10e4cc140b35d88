package dev.granary.local;

import dev.granary.local.LedgerState.Condition;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The account of used bytes that all processes on a directory share: one small file, changed under a file lock.
 *
 * <p>The lock is a courtesy to the account and not to the entries: whoever does not get it within a moment makes the change all the same
 * and owes the account the difference. A process that dies in a change leaves {@link Condition#CHANGING} behind, and the next one asks
 * for a sweep, which counts again.
 *
 * <p>One instance per file and process: the system drops a process's locks on a file when any of its channels on that file is closed, and
 * Java refuses a second lock of one region in one process.
 */
final class Ledger {
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long GRUDGE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(20);
    private static final int SWEEPER_REGION = 4096; // behind the account's bytes

    private static final Map<Path, Ledger> SHARED = new HashMap<>();

    private final Path file;
    private final LedgerFile storage;
    private final ReentrantLock turn = new ReentrantLock();
    private final ReentrantLock sweeper = new ReentrantLock();
    private final AtomicLong owed = new AtomicLong();
    private volatile LedgerState last = LedgerState.UNKNOWN;
    private volatile long grudgeUntil = System.nanoTime();
    private int users; // guarded by SHARED

    /** A change of the directory. */
    @FunctionalInterface
    interface Change {
        /** Makes the change; returns by how many bytes the entries grew. */
        long make() throws IOException;
    }

    private Ledger(Path file) {
        this.file = file;
        this.storage = new LedgerFile(file);
    }

    /** The account in that file; {@link #release} it. */
    static Ledger share(Path file) {
        synchronized (SHARED) {
            Ledger ledger = SHARED.computeIfAbsent(file, Ledger::new);
            ledger.users++;
            return ledger;
        }
    }

    /** Gives the account back; what this process owes is settled first, as far as that goes now. */
    void release(Trouble trouble) {
        if (owed.get() != 0) {
            try {
                grudgeUntil = System.nanoTime();
                change(() -> 0, Step.Listener.NONE, trouble);
            } catch (IOException e) {
                trouble.record(Trouble.Kind.ACCOUNTING, e);
            }
        }
        synchronized (SHARED) {
            if (--users == 0) {
                SHARED.remove(file);
                storage.close();
            }
        }
    }

    /** The account as it is now, as far as it can be read. */
    LedgerState state(Trouble trouble) {
        try (InterruptShield _ = new InterruptShield()) {
            if (takeTurn()) {
                try {
                    last = storage.read().orElse(last);
                } catch (IOException e) {
                    trouble.record(Trouble.Kind.ACCOUNTING, e);
                } finally {
                    turn.unlock();
                }
            }
            return known();
        }
    }

    /** The account as this process last saw it, with what this process owes it; reads nothing. */
    LedgerState known() {
        return last.plus(owed.get());
    }

    /**
     * Makes a change and enters it in the account.
     *
     * @throws IOException what the change threw; trouble with the account itself is recorded and throws nothing
     */
    void change(Change change, Step.Listener steps, Trouble trouble) throws IOException {
        try (InterruptShield _ = new InterruptShield()) {
            boolean mine = takeTurn();
            try {
                FileLock lock = mine ? begin(trouble) : null;
                steps.done(Step.LOCKED);
                long bytes = 0;
                try {
                    bytes = change.make();
                } finally {
                    end(lock, bytes, trouble);
                }
            } finally {
                if (mine) {
                    turn.unlock();
                }
            }
        }
    }

    /**
     * Enters what a sweep counted. {@code before} is the account when it began to count; what was added meanwhile may have been
     * seen or not: it is added, and the next process that opens the directory counts again.
     */
    void recalibrate(LedgerState before, long counted, long nowMillis, Trouble trouble) {
        try (InterruptShield _ = new InterruptShield()) {
            boolean mine = takeTurn();
            FileLock lock = mine ? begin(trouble) : null;
            boolean exact = last.changes() == before.changes();
            long meanwhile = exact ? 0 : Math.max(0, last.used() - before.used());
            last = new LedgerState(counted + meanwhile, exact ? nowMillis : 0, last.changes(), Condition.SOUND);
            owed.set(0);
            end(lock, 0, trouble);
            if (mine) {
                turn.unlock();
            }
        }
    }

    /** Runs {@code work} unless another thread or process is sweeping; returns whether it ran. */
    boolean sweepAlone(Runnable work, Trouble trouble) {
        if (!sweeper.tryLock()) {
            return false;
        }
        try (InterruptShield _ = new InterruptShield(); FileLock lock = storage.tryLock(SWEEPER_REGION)) {
            if (lock != null || !storage.canLock()) {
                work.run();
                return true;
            }
        } catch (IOException e) {
            trouble.record(Trouble.Kind.ACCOUNTING, e);
        } finally {
            sweeper.unlock();
        }
        return false;
    }

    private boolean takeTurn() {
        try {
            return turn.tryLock(PATIENCE_NANOS, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Locks and marks the account; null where that cannot be done now. */
    private @Nullable FileLock begin(Trouble trouble) {
        if (System.nanoTime() - grudgeUntil < 0) {
            return null;
        }
        FileLock lock = null;
        try {
            lock = lockPatiently();
            if (lock == null) {
                if (storage.canLock()) {
                    grudgeUntil = System.nanoTime() + GRUDGE_NANOS; // its holder is suspended: do not pay for that at each change
                }
                return null;
            }
            LedgerState found = storage.read().orElse(LedgerState.UNKNOWN);
            last = found.condition() == Condition.SOUND ? found : found.with(Condition.DOUBTFUL);
            storage.write(last.with(Condition.CHANGING));
            return lock;
        } catch (IOException e) {
            trouble.record(Trouble.Kind.ACCOUNTING, e);
            unlock(lock);
            return null;
        }
    }

    private void end(@Nullable FileLock lock, long bytes, Trouble trouble) {
        if (lock == null) {
            owed.addAndGet(bytes);
            return;
        }
        long settled = owed.get();
        try {
            LedgerState after = last.changedBy(bytes + settled);
            storage.write(after);
            owed.addAndGet(-settled);
            last = after;
        } catch (IOException e) {
            trouble.record(Trouble.Kind.ACCOUNTING, e);
            owed.addAndGet(bytes);
        } finally {
            unlock(lock);
        }
    }

    private @Nullable FileLock lockPatiently() throws IOException {
        long start = System.nanoTime();
        do {
            FileLock lock = storage.tryLock(0);
            if (lock != null || !storage.canLock()) {
                return lock;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        } while (System.nanoTime() - start < PATIENCE_NANOS);
        return null;
    }

    private static void unlock(@Nullable FileLock lock) {
        try {
            if (lock != null) {
                lock.close();
            }
        } catch (IOException e) {
            return; // the channel was closed, and the lock with it
        }
    }
}
