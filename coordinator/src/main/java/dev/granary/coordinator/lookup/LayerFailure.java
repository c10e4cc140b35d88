package dev.granary.coordinator.lookup;

import dev.granary.cache.LoadResult;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The first failure of the look-ups in one layer, with its cause as soon as that is known. Thread-safe.
 *
 * <p>A caller that goes on without the answer knows only that it waited. The answer that comes later tells the cause, or that the bucket was
 * merely slow: loading a client library and the first connection take seconds on a busy machine. That is no failure the first time; a second
 * time it is one.
 */
final class LayerFailure {
    private @Nullable String cause; // guarded by this
    private boolean isTimeout; // guarded by this: the cause may be known better later
    private boolean isPardonSpent; // guarded by this
    private int open; // guarded by this
    private long soundLate; // guarded by this

    /** A look-up has failed. Only the first cause is kept: later ones are often its consequences. */
    synchronized void failed(String why) {
        if (cause == null || isTimeout) {
            cause = why;
            isTimeout = false;
        }
    }

    /** A caller has gone on without the answer, and no answer is under way. */
    synchronized void timedOut(String why) {
        if (cause == null) {
            cause = why;
            isTimeout = true;
        }
    }

    /** A caller has gone on without an answer that is under way, and of which {@link #answered} or {@link #failedLate} is told. */
    synchronized void left(String why) {
        open++;
        timedOut(why);
    }

    /** The answer has come for which a caller had not waited. */
    synchronized void answered(LoadResult result) {
        if (result instanceof LoadResult.Unavailable lost) {
            failedLate(lost.cause());
            return;
        }
        open--;
        soundLate++;
        if (isTimeout && open == 0 && !isPardonSpent) {
            isPardonSpent = true;
            isTimeout = false;
            cause = null;
        }
    }

    /** Instead of an answer for which a caller had not waited there was a failure. */
    synchronized void failedLate(String why) {
        open--;
        failed(why);
    }

    /** In one line; empty where nothing has failed. */
    synchronized Optional<String> cause() {
        return Optional.ofNullable(cause);
    }

    /** How many answers are under way for which no caller waits. */
    synchronized int open() {
        return open;
    }

    /** How many answers came too late for their callers, and were no failures. */
    synchronized long soundLate() {
        return soundLate;
    }
}
