package dev.granary.local.store;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.FileThreads;
import dev.granary.local.file.MappingFault;
import dev.granary.local.file.OpenStoreFiles;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Recorder of last uses. They are written to the index 10 s later, so that a hit writes nothing but
 * a number in this process. Thread-safe.
 */
public final class LastUseRecorder {
    private static final Duration DELAY = Duration.ofSeconds(10);
    private static final int MICROS_PER_SECOND = 1_000_000;

    private final SegmentStore store;
    private final InstantSource clock;
    private final Executor background;
    private final IoFailureLog failures;
    private final AtomicBoolean scheduled = new AtomicBoolean();
    private volatile @Nullable Thread waiting;
    private volatile boolean closed; // written under the lock of this

    public LastUseRecorder(
            SegmentStore store, InstantSource clock, Executor background, IoFailureLog failures) {
        this.store = store;
        this.clock = clock;
        this.background = background;
        this.failures = failures;
    }

    public long nowMicros() {
        Instant now = clock.instant();
        return now.getEpochSecond() * MICROS_PER_SECOND + now.getNano() / 1000;
    }

    /** Records that the entry in this slot was used now. */
    void record(EntryIndex index, int slot) {
        index.recordUse(slot, nowMicros());
        if (!scheduled.get() && scheduled.compareAndSet(false, true)) {
            schedule();
        }
    }

    /**
     * Schedules the writing in a thread of {@link FileThreads}: the JDK's schedulers take longer to
     * load than a lookup takes.
     */
    private void schedule() {
        try {
            FileThreads.execute(this::waitAndWrite);
        } catch (OutOfMemoryError e) {
            scheduled.set(false); // the system has no thread: a later use tries again
            failures.record(IoFailureLog.Kind.STAMPING, e);
        }
    }

    private void waitAndWrite() {
        waiting = Thread.currentThread();
        if (!closed) {
            LockSupport.parkNanos(DELAY.toNanos());
        }
        waiting = null;
        if (!closed) {
            try {
                background.execute(this::writeUnlessClosed);
            } catch (RejectedExecutionException | OutOfMemoryError e) {
                writeUnlessClosed(); // also if the system has no thread
            }
        }
    }

    private synchronized void writeUnlessClosed() {
        if (!closed) { // a closed tier must not open its files again
            write();
        }
    }

    /**
     * Writes the recorded uses for the last time, and ends the waiting thread. Otherwise each
     * opening of a tier would leave one for 10 s.
     */
    public synchronized void close() {
        write();
        closed = true;
        LockSupport.unpark(waiting);
    }

    /** Writes the recorded uses, and closes segments that others removed. */
    private void write() {
        scheduled.set(false);
        try {
            OpenStoreFiles files = store.files();
            if (files != null) {
                files.writeUses(nowMicros());
                files.segments().dropGone();
            }
            MappingFault.throwPending();
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.STAMPING, e);
        }
    }
}
