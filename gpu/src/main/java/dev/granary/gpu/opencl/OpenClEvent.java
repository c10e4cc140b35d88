package dev.granary.gpu.opencl;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The completion of a command in the queue of an engine: an asynchronous launch or a marker.
 * Thread-safe.
 *
 * <p>It needs no closing. The native event is released when the command has completed, whether or
 * not this object is still reachable.
 */
public final class OpenClEvent {
    private static final Logger LOG = LoggerFactory.getLogger(OpenClEvent.class);

    private final PendingEvents pending;
    private final String command;
    private final LaunchHolds holds;
    private final Runnable onSuccess;
    private final CompletableFuture<@Nullable Void> future = new CompletableFuture<>();
    private long event; // guarded by this; 0 before it is enqueued, and after the end
    private volatile @Nullable OpenClException failure; // written before the handle is 0

    /**
     * Creates the event of a command that is not enqueued yet.
     *
     * @param command the command's name in messages
     * @param holds the objects that the command uses, released after its end
     * @param onSuccess runs after a successful end, in a thread of its own
     */
    OpenClEvent(PendingEvents pending, String command, LaunchHolds holds, Runnable onSuccess) {
        this.pending = pending;
        this.command = command;
        this.holds = holds;
        this.onSuccess = onSuccess;
    }

    /** Returns true if the command has ended, successfully or not. */
    public boolean isDone() {
        return future.isDone();
    }

    /**
     * Waits for the end of the command.
     *
     * @throws OpenClException if its execution failed, or that of a command it depends on
     */
    public void await() throws InterruptedException {
        try {
            future.get();
        } catch (ExecutionException e) {
            throw failed(e);
        }
    }

    /**
     * Waits for the end of the command, at most as long as {@code timeout}.
     *
     * @return false if the time has passed and the command has not ended
     * @throws OpenClException if its execution failed, or that of a command it depends on
     */
    public boolean await(Duration timeout) throws InterruptedException {
        try {
            future.get(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw failed(e);
        }
    }

    private RuntimeException failed(ExecutionException e) {
        OpenClException known = failure;
        return known == null ? new IllegalStateException(e.getCause()) : known.forThisThread();
    }

    /**
     * Returns the completion as a stage for dependent actions. If the execution failed, they get a
     * {@link java.util.concurrent.CompletionException} whose cause is an {@link OpenClException}.
     * Actions run in a virtual thread, and may use and close the engine; actions that were added
     * after the end run in the adding thread.
     */
    public CompletionStage<@Nullable Void> completion() {
        return future.minimalCompletionStage();
    }

    /**
     * Returns the native event for a command that the application enqueues itself; empty if the
     * command has ended. The caller must release it by {@code clReleaseEvent}.
     */
    public OptionalLong retainHandle() {
        long retained = retain();
        return retained == 0 ? OptionalLong.empty() : OptionalLong.of(retained);
    }

    /** Returns the native event, retained for the caller; 0 if the command has ended. */
    synchronized long retain() {
        if (event != 0) {
            pending.calls().retainEvent(event);
        }
        return event;
    }

    /** Releases what {@link #retain} has returned. */
    void release(long retained) {
        pending.calls().releaseEvent(retained);
    }

    /** Returns the failure of the command; null if it has not failed, or not yet. */
    @Nullable
    OpenClException failure() {
        return failure;
    }

    boolean isIn(long context) {
        return pending.context() == context;
    }

    synchronized void enqueued(long event) {
        this.event = event;
    }

    /**
     * Completes an event whose command is not enqueued, since one that it depends on has failed.
     */
    OpenClEvent failed(OpenClException dependency) {
        failure = dependency;
        complete(dependency);
        return this;
    }

    /** Returns true if the command has ended, according to the driver. */
    boolean hasEnded() {
        long retained = retain();
        if (retained == 0) {
            return true;
        }
        try {
            return pending.calls().eventStatus(retained) <= 0;
        } catch (OpenClException e) { // such as a lost device: it will not end otherwise
            return true;
        } finally {
            release(retained);
        }
    }

    /** Waits until the command has ended, in the driver and without regard to interrupts. */
    void awaitEnd() {
        long retained = retain();
        if (retained == 0) {
            return;
        }
        try {
            pending.calls().waitForEvent(retained);
        } catch (OpenClException e) {
            LOG.debug("{}: {}", command, e.getMessage()); // finish() reports it
        } finally {
            release(retained);
        }
    }

    /**
     * Releases the native event and the objects that the command used. Requires that the command
     * has ended and the engine has not released its objects. Of several calls the first one acts,
     * and the others wait for it.
     */
    void finish() {
        OpenClException failed;
        synchronized (this) {
            if (event == 0) {
                return;
            }
            failed = failureOf(event);
            failure = failed; // first: without a handle, a dependent launch relies on it
            long ended = event;
            event = 0;
            try (holds) {
                if (failed == null) {
                    pending.calls().releaseEvent(ended);
                } else {
                    pending.calls().releaseFailedEvent(ended);
                }
            } catch (OpenClException | OutOfMemoryError e) { // no thread for the release
                LOG.warn("{}: {}", command, e.getMessage());
            }
        }
        pending.remove(this);
        try {
            // users' code: it may wait, and close the engine
            Thread.startVirtualThread(() -> completeAfterAction(failed));
        } catch (OutOfMemoryError e) { // no thread
            completeAfterAction(failed);
        }
    }

    private @Nullable OpenClException failureOf(long ended) {
        try {
            int status = pending.calls().eventStatus(ended);
            return status == 0 ? null : OpenClException.ofExecution(command, status);
        } catch (OpenClException e) {
            return e;
        }
    }

    private void completeAfterAction(@Nullable OpenClException failed) {
        try {
            if (failed == null) {
                onSuccess.run();
            }
        } catch (RuntimeException | Error e) {
            LOG.warn("{}: an action after its end failed", command, e);
        } finally {
            complete(failed);
        }
    }

    private void complete(@Nullable OpenClException failed) {
        if (failed == null) {
            future.complete(null);
        } else {
            future.completeExceptionally(failed);
        }
    }

    @Override
    public String toString() {
        return command + (isDone() ? failure == null ? ", done" : ", failed" : ", pending");
    }
}
