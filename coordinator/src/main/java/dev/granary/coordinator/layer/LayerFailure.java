package dev.granary.coordinator.layer;

import dev.granary.cache.LoadResult;

import org.jspecify.annotations.Nullable;

import java.util.Optional;

/**
 * The first failure of the lookups in one layer, with its cause as soon as that is known.
 * Thread-safe.
 *
 * <p>If a caller times out, the cause is unknown at first. The late answer reveals the cause, or
 * shows that the bucket was merely slow: loading a client library and the first connection take
 * seconds on a busy machine. The first such late answer is no failure; a second one is.
 */
final class LayerFailure {
    private @Nullable String cause; // guarded by this
    private boolean isTimeout; // guarded by this: a later answer may replace the cause
    private boolean isGraceUsed; // guarded by this
    private int pending; // guarded by this
    private long lateAnswers; // guarded by this

    /**
     * Records a failed lookup. Only the first cause is kept: later ones are often its consequences.
     */
    synchronized void failed(String newCause) {
        if (cause == null || isTimeout) {
            cause = newCause;
            isTimeout = false;
        }
    }

    /** Records a timeout without an answer under way. */
    synchronized void timedOut(String newCause) {
        if (cause == null) {
            cause = newCause;
            isTimeout = true;
        }
    }

    /**
     * Records a timeout with an answer under way, for which {@link #lateAnswer} or
     * {@link #lateFailure} is called later.
     */
    synchronized void abandoned(String newCause) {
        pending++;
        timedOut(newCause);
    }

    /** Records an answer that came after the timeout of its caller. */
    synchronized void lateAnswer(LoadResult result) {
        if (result instanceof LoadResult.Unavailable lost) {
            lateFailure(lost.cause());
            return;
        }
        pending--;
        lateAnswers++;
        if (isTimeout && pending == 0 && !isGraceUsed) {
            isGraceUsed = true;
            isTimeout = false;
            cause = null;
        }
    }

    /** Records a failure that came after the timeout of its caller. */
    synchronized void lateFailure(String newCause) {
        pending--;
        failed(newCause);
    }

    /** Returns the cause in one line; empty if nothing has failed. */
    synchronized Optional<String> cause() {
        return Optional.ofNullable(cause);
    }

    /** Returns the number of answers under way for which no caller waits. */
    synchronized int pending() {
        return pending;
    }

    /** Returns the number of answers that came too late for their callers and were no failures. */
    synchronized long lateAnswers() {
        return lateAnswers;
    }
}
