package dev.granary.local;

import dev.granary.cache.Id;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Claims on ids among the processes of one machine. While a process has a claim, others wait for
 * its compile, and look the id up again soon. Thread-safe.
 *
 * <p>A claim is not needed for correctness and never blocks: a process without it may compile the
 * same id. It is a file lock, so that it ends with its process and leaves nothing to remove. Two
 * threads of one process exclude each other as two processes do. Nothing is opened before the first
 * claim.
 */
public final class LocalClaims implements AutoCloseable {
    private final Path directory;
    private @Nullable ClaimLockFile file; // guarded by this
    private final Set<ClaimResult.Mine> claims = ConcurrentHashMap.newKeySet();
    private boolean isClosed; // guarded by this

    private LocalClaims(Path directory) {
        this.directory = directory;
    }

    /** Returns the claims for a directory of a {@link LocalTier}. Opens nothing and cannot fail. */
    public static LocalClaims open(Path directory) {
        return new LocalClaims(directory);
    }

    /** Tries to claim {@code id}, which must not be empty, without waiting. */
    public synchronized ClaimResult claim(Id id) { // close must not release the file meanwhile
        ClaimLockFile shared = file();
        if (shared == null) {
            return new ClaimResult.Unavailable("the claims are closed");
        }
        ClaimResult result = shared.claim(position(id));
        return result instanceof ClaimResult.Mine claim ? new RegisteredClaim(claim) : result;
    }

    /**
     * Returns true if another lookup of this machine has the claim on {@code id}. Claims nothing.
     * For tools: a claim at the same moment may see this probe as another holder, and tries again.
     *
     * @throws IOException if claims do not work in the directory
     */
    public synchronized boolean isClaimed(Id id) throws IOException {
        ClaimLockFile shared = file();
        return shared != null && shared.isClaimed(position(id));
    }

    /**
     * Returns the file, opened at the first claim since most processes never miss; null after
     * {@link #close()}.
     */
    private synchronized @Nullable ClaimLockFile file() {
        if (file == null && !isClosed) {
            file = ClaimLockFile.share(real(directory).resolve("claims"));
        }
        return isClosed ? null : file;
    }

    /**
     * Releases every claim made through this object. Further calls do nothing, and later claims are
     * unavailable.
     */
    @Override
    public void close() {
        ClaimLockFile shared;
        synchronized (this) {
            isClosed = true;
            shared = file;
            file = null;
        }
        claims.forEach(ClaimResult.Mine::close);
        if (shared != null) {
            shared.release();
        }
    }

    /**
     * Claim that is registered here, since {@link LocalClaims#close()} must release it while other
     * users keep the file open.
     */
    private final class RegisteredClaim implements ClaimResult.Mine {
        private final ClaimResult.Mine claim;

        RegisteredClaim(ClaimResult.Mine claim) {
            this.claim = claim;
            claims.add(this);
        }

        @Override
        public void close() {
            claim.close();
            claims.remove(this); // close of all waits for this one until then
        }
    }

    /**
     * Returns the position of an id's byte in the file: a number of 62 bits. Two ids with one
     * position only wait for each other.
     */
    static long position(Id id) {
        return ByteBuffer.wrap(id.hash().bytes()).getLong() >>> 2;
    }

    /** Returns one path for each directory, since a process must not open the file twice. */
    private static Path real(Path directory) {
        try {
            return directory.toRealPath();
        } catch (IOException e) {
            // missing: claims will be unavailable
            return directory.toAbsolutePath().normalize();
        }
    }
}
