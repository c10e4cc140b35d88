package dev.granary.s3.resilience;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;

import java.util.Optional;

/**
 * Measures the silence of a bucket: no response to any request, and no progress of those in
 * progress. Thread-safe.
 *
 * <p>A silence begins with the first request that ends without a response, and ends with the next
 * response or progress.
 */
final class SilenceClock {
    private final long limitNanos;
    private final TrafficCounter traffic;
    private boolean hasResponded; // guarded by this object, like the following fields
    private boolean isSilent;
    private long silentSinceNanos;
    private long progressBefore;

    SilenceClock(long limitNanos, TrafficCounter traffic) {
        this.limitNanos = limitNanos;
        this.traffic = traffic;
    }

    /**
     * Records the end of a request.
     *
     * @param failure its failure
     * @param startNanos the time when it was sent
     * @param nowNanos the time when it ended
     * @param isFinalAttempt false if the same request will be retried
     * @return true if the silence exceeds the limit, or there was never a response and the request
     *     is not retried
     */
    synchronized boolean recordEnd(
            Optional<StoreFailure> failure,
            long startNanos,
            long nowNanos,
            boolean isFinalAttempt) {
        if (failure.filter(SilenceClock::isWithoutResponse).isEmpty()) {
            hasResponded |= failure.filter(StoreFailure::isUnsent).isEmpty();
            isSilent = false;
            return false;
        }
        long progress = traffic.progress();
        hasResponded |= progress > 0;
        if (!isSilent || progress != progressBefore) {
            isSilent = true;
            silentSinceNanos = startNanos;
            progressBefore = progress;
        }
        return nowNanos - silentSinceNanos >= limitNanos
                || (isFinalAttempt
                        && !hasResponded
                        && failure.get().kind() == StoreFailure.Kind.TIMEOUT);
    }

    private static boolean isWithoutResponse(StoreFailure failure) {
        return failure.status() == 0
                && (failure.kind() == StoreFailure.Kind.TIMEOUT
                        || failure.kind() == StoreFailure.Kind.UNREACHABLE);
    }
}
