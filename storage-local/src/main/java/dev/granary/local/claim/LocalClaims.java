package dev.granary.local.claim;

import dev.granary.cache.Id;
import dev.granary.local.LocalTier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Claims on ids among the processes of one machine: "I am at it, ask the directory again soon". Thread-safe.
 *
 * <p>A claim never makes anything safe and never blocks: whoever does not get it may do the same work as well. It is a file lock, so that it
 * vanishes with the process that has it and leaves nothing to be swept. Two threads of one process exclude each other as two processes do.
 * Nothing is opened before the first claim.
 */
public final class LocalClaims implements AutoCloseable {
    private final Path directory;
    private @Nullable ClaimLockFile file; // guarded by this
    private final Set<ClaimResult.Mine> mine = ConcurrentHashMap.newKeySet();
    private volatile boolean isClosed;

    private LocalClaims(Path directory) {
        this.directory = directory;
    }

    /** The claims of the processes that use that directory of a {@link LocalTier}; opens nothing, cannot fail. */
    public static LocalClaims open(Path directory) {
        return new LocalClaims(directory);
    }

    /** Tries to claim {@code id}, which must not be empty; waits for nothing. */
    public ClaimResult claim(Id id) {
        ClaimLockFile shared = file();
        if (shared == null) {
            return new ClaimResult.Unavailable("the claims are closed");
        }
        ClaimResult result = shared.claim(position(id));
        return result instanceof ClaimResult.Mine held ? new Noted(held) : result;
    }

    /** Looked for when it is needed, since most processes never miss. */
    private synchronized @Nullable ClaimLockFile file() {
        if (file == null && !isClosed) {
            file = ClaimLockFile.share(real(directory).resolve("claims"));
        }
        return isClosed ? null : file;
    }

    /** Lets go of every claim that was got here. Further calls do nothing, and claims are unavailable from now on. */
    @Override
    public void close() {
        ClaimLockFile shared;
        synchronized (this) {
            isClosed = true;
            shared = file;
            file = null;
        }
        mine.forEach(ClaimResult.Mine::close);
        if (shared != null) {
            shared.release();
        }
    }

    /** Closing the claims must let go of it, since another user may keep the file open. */
    private final class Noted implements ClaimResult.Mine {
        private final ClaimResult.Mine held;

        Noted(ClaimResult.Mine held) {
            this.held = held;
            mine.add(this);
            if (isClosed) {
                close(); // meanwhile
            }
        }

        @Override
        public void awaitLaunch() {
            held.awaitLaunch();
        }

        @Override
        public void close() {
            mine.remove(this);
            held.close();
        }
    }

    /** Where in the file an id's two bytes are: an even number of 62 bits. Two ids with one position would wait for each other, no more. */
    static long position(Id id) {
        return (ByteBuffer.wrap(id.hash().bytes()).getLong() >>> 2) & ~1L;
    }

    /** One path for one directory, since a process must not open the file twice. */
    private static Path real(Path directory) {
        try {
            return directory.toRealPath();
        } catch (IOException e) {
            return directory.toAbsolutePath().normalize(); // not there: claims will be unavailable
        }
    }
}
