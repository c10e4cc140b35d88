package dev.granary.coordinator.machine;

import dev.granary.cache.Deadline;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.Ticker;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Turn of one thread of one process to change a file, by a lock file. It is awaited for a limited
 * time: a suspended process that has the lock must not block others.
 */
public final class FileTurn implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(2);

    /**
     * The turn of this process for all files: turns are short and rare. The system releases a
     * process's lock on a file when any of its channels on that file is closed, so only one may be
     * open.
     */
    private static final ReentrantLock TURN = new ReentrantLock();

    private final Closer held; // the turn and the lock

    private FileTurn(Closer held) {
        this.held = held;
    }

    /**
     * Waits for a turn.
     *
     * @param lockFile the lock file, which is created if it is missing; its directory exists
     * @throws IOException if the turn does not come within {@code limit}, the thread is
     *     interrupted, or the file cannot be opened
     */
    public static FileTurn await(Path lockFile, Duration limit) throws IOException {
        Deadline deadline = Deadline.after(limit);
        Closer held = new Closer();
        try {
            if (TURN.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                held.add(TURN::unlock);
                FileChannel channel = held.add(FileChannel.open(
                        lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE));
                do {
                    if (lock(channel) != null) {
                        return new FileTurn(held);
                    }
                    Ticker.SYSTEM.pause(PAUSE);
                } while (!deadline.isOver());
            }
            throw new IOException("another process or thread has held the lock " + lockFile
                    + " for " + limit.toSeconds() + " s");
        } catch (InterruptedException e) {
            held.close();
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the wait for a lock was interrupted");
        } catch (IOException | RuntimeException | Error e) {
            held.close();
            throw e;
        }
    }

    /** Returns null if another has the lock: a process, or another copy of this class here. */
    static @Nullable FileLock lock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    @Override
    public void close() {
        held.close();
    }
}
