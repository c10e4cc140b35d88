package dev.granary.s3.resilience;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import java.util.Optional;

/**
 * The time in which a bucket has brought nothing: no answer to any request, and no progress of one that is under way. Thread-safe.
 *
 * <p>It begins with the first request that ends without an answer, and ends with the next answer or progress.
 */
final class SilenceClock {
    private final long limitNanos;
    private final TrafficCounter traffic;
    private boolean isHeard; // this object is the lock of all that follows
    private boolean isSilent;
    private long sinceNanos;
    private long progressBefore;

    SilenceClock(long limitNanos, TrafficCounter traffic) {
        this.limitNanos = limitNanos;
        this.traffic = traffic;
    }

    /**
     * Notes how a request has ended.
     *
     * @param failure what failed
     * @param startNanos when it was sent
     * @param nowNanos when it ended
     * @param isVerdict false where the same request will be sent again
     * @return true where the silence is over the limit, or where nothing was ever heard and the request is not sent again
     */
    synchronized boolean isOver(Optional<StoreFailure> failure, long startNanos, long nowNanos, boolean isVerdict) {
        if (failure.filter(SilenceClock::isWithoutAnswer).isEmpty()) {
            isHeard |= failure.filter(StoreFailure::isUnsent).isEmpty();
            isSilent = false;
            return false;
        }
        long progress = traffic.progress();
        isHeard |= progress > 0;
        if (!isSilent || progress != progressBefore) {
            isSilent = true;
            sinceNanos = startNanos;
            progressBefore = progress;
        }
        return nowNanos - sinceNanos >= limitNanos || (isVerdict && !isHeard && failure.get().kind() == StoreFailure.Kind.TIMEOUT);
    }

    private static boolean isWithoutAnswer(StoreFailure failure) {
        return failure.status() == 0 && (failure.kind() == StoreFailure.Kind.TIMEOUT || failure.kind() == StoreFailure.Kind.UNREACHABLE);
    }
}
