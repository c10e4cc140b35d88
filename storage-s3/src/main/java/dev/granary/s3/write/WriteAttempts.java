package dev.granary.s3.write;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The attempts at one write, with a verdict on each response. For one thread.
 *
 * <p>A write without a response may have taken effect, or may still do so. A later attempt then
 * fails its precondition because of the writer's own object; so does a request that a proxy sends
 * twice. {@link WriteVerdict.Inspect} states that only the object itself shows whose it is. Each
 * writer has other evidence for that: the metadata of a probe's object, the length of a pack, the
 * bytes of a manifest, the put id and the content of an entry.
 */
public final class WriteAttempts {
    private final RetryPolicy policy;
    private int sent;
    private int conflicts;
    private int unknowns;
    private @Nullable WriteResult last;
    private Optional<StoreFailure> unanswered = Optional.empty();
    private String cause = "";

    public WriteAttempts(RetryPolicy policy) {
        this.policy = policy;
    }

    /** A wait before the next attempt. */
    public interface Pause<X extends Exception> {
        void accept(Duration pause) throws X;
    }

    /**
     * Sends a request until the verdict ends its attempts.
     *
     * @param pause waits before each further attempt
     */
    public <X extends Exception> WriteVerdict.Ended send(
            Supplier<WriteResult> request, Pause<X> pause) throws X {
        while (true) {
            switch (after(request.get())) {
                case WriteVerdict.Again(Duration duration) -> pause.accept(duration);
                case WriteVerdict.Ended ended -> {
                    return ended;
                }
            }
        }
    }

    /** Counts a response, and returns the verdict on it. */
    public WriteVerdict after(WriteResult response) {
        sent++;
        last = response;
        return switch (response) {
            case WriteResult.Done(String etag) -> new WriteVerdict.Own(etag);
            case WriteResult.NotAllowed(StoreFailure failure) -> new WriteVerdict.Refused(failure);
            case WriteResult.NotSent(StoreFailure failure) -> new WriteVerdict.GivenUp(failure);
            case WriteResult.PreconditionFailed _ -> policy.verdict(response, this);
            case WriteResult.Conflict _ -> {
                conflicts++;
                cause = "other writers were faster";
                yield policy.verdict(response, this);
            }
            case WriteResult.Unknown(StoreFailure failure) -> {
                unknowns++;
                unanswered = Optional.of(failure);
                cause = failure.toString();
                yield policy.verdict(response, this);
            }
        };
    }

    /** Returns the number of responses so far. */
    public int sent() {
        return sent;
    }

    /** Returns the number of conflicts so far. */
    public int conflicts() {
        return conflicts;
    }

    /** Returns the number of unknown outcomes so far. */
    public int unknowns() {
        return unknowns;
    }

    /**
     * Returns the last response.
     *
     * @throws NullPointerException before the first one
     */
    public WriteResult last() {
        return Objects.requireNonNull(last);
    }

    /** Returns the cause of the last conflict or unknown outcome, for people; empty if none. */
    public String cause() {
        return cause;
    }

    /** Returns the failure of the last unknown outcome: that attempt may still take effect. */
    public Optional<StoreFailure> unanswered() {
        return unanswered;
    }
}
