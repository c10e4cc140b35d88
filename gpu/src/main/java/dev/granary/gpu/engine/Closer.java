package dev.granary.gpu.engine;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Stack of native objects to be released, the last added one first, even if others fail. Not
 * thread-safe.
 */
public final class Closer implements AutoCloseable {
    private final Deque<Runnable> releases = new ArrayDeque<>();

    /** Adds the release of an object. */
    public void add(Runnable release) {
        releases.push(release);
    }

    /**
     * Performs all releases.
     *
     * @throws RuntimeException the first failure, after all others were performed; further ones are
     *     suppressed in it
     */
    @Override
    public void close() {
        Throwable first = null;
        while (!releases.isEmpty()) {
            first = failureOf(releases.pop(), first);
        }
        if (first instanceof Error e) {
            throw e;
        } else if (first != null) {
            throw (RuntimeException) first;
        }
    }

    /** Releases an object after {@code failure}; a failure to release is suppressed in it. */
    public static void closeAfter(Throwable failure, Runnable release) {
        failureOf(release, failure);
    }

    private static @Nullable Throwable failureOf(Runnable release, @Nullable Throwable first) {
        try {
            release.run();
        } catch (RuntimeException | Error e) { // errors too, so that the others are released
            if (first == null) {
                return e;
            }
            if (e != first) {
                first.addSuppressed(e);
            }
        }
        return first;
    }
}
