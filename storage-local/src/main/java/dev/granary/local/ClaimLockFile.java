package dev.granary.local;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * File whose locks are the claims of one directory: always empty, opened at the first claim.
 * Thread-safe.
 *
 * <p>One instance and one channel per file and process. The system releases all of a process's
 * locks on a file when any of its channels on that file is closed. After the file was removed, the
 * next claim creates a new one.
 */
final class ClaimLockFile {
    private static final Map<Path, ClaimLockFile> SHARED = new HashMap<>();

    private final Path file;
    private @Nullable Opened opened; // guarded by this
    private int users; // guarded by SHARED

    /**
     * One opening of the file, with the file key that shows whether its name still refers to it.
     */
    private static final class Opened {
        private final FileChannel channel;
        private final @Nullable Object key;
        private int claimCount; // guarded by the lock file
        private boolean isAbandoned; // guarded by the lock file

        Opened(FileChannel channel, @Nullable Object key) {
            this.channel = channel;
            this.key = key;
        }
    }

    private ClaimLockFile(Path file) {
        this.file = file;
    }

    /** Returns the shared instance for a path; callers must {@link #release} it. */
    static ClaimLockFile share(Path file) {
        synchronized (SHARED) {
            ClaimLockFile shared = SHARED.computeIfAbsent(file, ClaimLockFile::new);
            shared.users++;
            return shared;
        }
    }

    /** Releases the file; it is closed after its last user released it. */
    void release() {
        synchronized (SHARED) {
            if (--users == 0) {
                SHARED.remove(file);
                synchronized (this) {
                    abandon();
                }
            }
        }
    }

    /** Tries to lock the byte at {@code position}. */
    synchronized ClaimResult claim(long position) {
        try (InterruptGuard _ = new InterruptGuard()) {
            Opened now = open();
            FileLock lock = tryLock(now, position, false);
            if (lock == null) {
                return new ClaimResult.Taken();
            }
            now.claimCount++;
            return new LockedClaim(now, lock);
        } catch (IOException e) {
            return new ClaimResult.Unavailable(file + ": " + e);
        }
    }

    /**
     * Returns true if there is a claim on {@code position}. Creates no file. Probes with a shared
     * lock, since other probes at the same moment must not look like a holder.
     *
     * @throws IOException if the file cannot be opened or its locks do not work
     */
    synchronized boolean isClaimed(long position) throws IOException {
        if (Files.notExists(file, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        try (InterruptGuard _ = new InterruptGuard();
                FileLock probe = tryLock(open(), position, true)) {
            return probe == null;
        }
    }

    private static @Nullable FileLock tryLock(Opened in, long position, boolean shared)
            throws IOException {
        try {
            return in.channel.tryLock(position, 1, shared);
        } catch (OverlappingFileLockException e) {
            return null; // this process holds it
        }
    }

    private Opened open() throws IOException {
        Opened last = opened;
        if (last != null && last.channel.isOpen() && Objects.equals(last.key, currentKey())) {
            return last;
        }
        abandon();
        FileChannel channel = DirectoryValidator.openLockFile(file);
        Opened now = new Opened(channel, currentKey());
        opened = now;
        return now;
    }

    /** Opens no more claims on the channel, which is closed with its last claim. */
    private void abandon() {
        Opened last = opened;
        if (last != null) {
            opened = null;
            last.isAbandoned = true;
            closeIfDone(last);
        }
    }

    private static void closeIfDone(Opened last) {
        if (last.isAbandoned && last.claimCount == 0) {
            try {
                last.channel.close();
            } catch (IOException e) {
                return; // nothing was written
            }
        }
    }

    private @Nullable Object currentKey() throws IOException {
        try {
            return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .fileKey();
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private synchronized void unlock(Opened in, FileLock lock) {
        try (InterruptGuard _ = new InterruptGuard()) {
            lock.close();
        } catch (IOException e) {
            // the channel was closed, and the lock with it
        }
        in.claimCount--;
        closeIfDone(in);
    }

    /** A claim by its lock. */
    private final class LockedClaim implements ClaimResult.Mine {
        private final Opened in;
        private final FileLock lock;
        private boolean isClosed; // guarded by this

        LockedClaim(Opened in, FileLock lock) {
            this.in = in;
            this.lock = lock;
        }

        @Override
        public synchronized void close() {
            if (!isClosed) {
                isClosed = true;
                unlock(in, lock);
            }
        }
    }
}
