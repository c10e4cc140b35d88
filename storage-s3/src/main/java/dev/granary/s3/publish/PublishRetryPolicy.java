package dev.granary.s3.publish;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.s3.write.RetryPolicy;
import dev.granary.s3.write.WriteAttempts;
import dev.granary.s3.write.WriteVerdict;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * The retry policy of a publication: 3 retries after conflicts, and 2 after unknown outcomes, over
 * all its writes.
 */
final class PublishRetryPolicy implements RetryPolicy {
    static final int MAX_UNKNOWNS = 2;

    private static final int MAX_CONFLICTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final RandomGenerator random;

    PublishRetryPolicy(RandomGenerator random) {
        this.random = random;
    }

    @Override
    public WriteVerdict verdict(WriteResult response, WriteAttempts soFar) {
        return switch (response) {
            case WriteResult.Conflict _ -> afterConflict(soFar.conflicts());
            case WriteResult.Unknown(StoreFailure failure) ->
                afterUnknown(soFar.unknowns(), failure);
            case WriteResult.PreconditionFailed _,
                    WriteResult.Done _,
                    WriteResult.NotAllowed _,
                    WriteResult.NotSent _ -> new WriteVerdict.Inspect();
        };
    }

    private WriteVerdict afterConflict(int conflicts) {
        return conflicts > MAX_CONFLICTS
                ? new WriteVerdict.GivenUp(
                        StoreFailure.of(StoreFailure.Kind.SERVER, conflicts + " conflicts"))
                : new WriteVerdict.Again(pause(conflicts));
    }

    private WriteVerdict afterUnknown(int unknowns, StoreFailure failure) {
        if (unknowns > MAX_UNKNOWNS) {
            return unknowns == MAX_UNKNOWNS + 1
                    ? new WriteVerdict.Inspect()
                    : new WriteVerdict.GivenUp(failure);
        }
        return new WriteVerdict.Again(pause(unknowns));
    }

    /**
     * Returns a random time up to 50 ms, 100 ms, 200 ms (full jitter), so that colliding writers
     * separate.
     */
    private Duration pause(int attempt) {
        long maxNanos = FIRST_PAUSE.toNanos() << (attempt - 1);
        return Duration.ofNanos(1 + random.nextLong(maxNanos));
    }
}
