package dev.granary.coordinator.machine;

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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Turn of one thread of one process to change a file, by a lock file. It is awaited for a limited
 * time: a suspended process that has the lock must not block others.
 */
public final class FileTurn implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(2);

    /**
     * The turns of this process, by real path. The system releases a process's lock on a file when
     * any of its channels on that file is closed, so only one may be open.
     */
    private static final Map<Path, ReentrantLock> TURNS = new ConcurrentHashMap<>();

    private final ReentrantLock turn;
    private final FileChannel channel;

    private FileTurn(ReentrantLock turn, FileChannel channel) {
        this.turn = turn;
        this.channel = channel;
    }

    /**
     * Waits for a turn.
     *
     * @param lockFile the lock file, which is created if it is missing; its directory exists
     * @throws IOException if the turn does not come within {@code limit}, the thread is
     *     interrupted, or the file cannot be opened
     */
    public static FileTurn await(Path lockFile, Duration limit) throws IOException {
        Path directory = lockFile.toAbsolutePath().resolveSibling(".").toRealPath();
        ReentrantLock turn = TURNS.computeIfAbsent(
                directory.resolve(lockFile.getFileName()), _ -> new ReentrantLock());
        long deadline = Ticker.SYSTEM.nanos() + limit.toNanos();
        try {
            if (!turn.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw held(lockFile, limit);
            }
        } catch (InterruptedException e) {
            throw interrupted();
        }
        try {
            FileChannel channel =
                    FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            try {
                while (lock(channel) == null) {
                    if (Ticker.SYSTEM.nanos() - deadline > 0) {
                        throw held(lockFile, limit);
                    }
                    try {
                        Ticker.SYSTEM.pause(PAUSE);
                    } catch (InterruptedException e) {
                        throw interrupted();
                    }
                }
                return new FileTurn(turn, channel);
            } catch (IOException | RuntimeException | Error e) {
                channel.close();
                throw e;
            }
        } catch (IOException | RuntimeException | Error e) {
            turn.unlock();
            throw e;
        }
    }

    /** Returns null if another has the lock: a process, or another copy of this class here. */
    private static @Nullable FileLock lock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    private static IOException held(Path lockFile, Duration limit) {
        return new IOException("another process or thread has held the lock " + lockFile + " for "
                + limit.toSeconds() + " s");
    }

    private static IOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("the wait for a lock was interrupted");
    }

    /** Ends the turn. */
    @Override
    public void close() throws IOException {
        try {
            channel.close();
        } finally {
            turn.unlock();
        }
    }
}
