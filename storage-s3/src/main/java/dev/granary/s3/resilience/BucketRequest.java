package dev.granary.s3.resilience;

import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/**
 * A request to a bucket, which may be sent several times.
 *
 * @param counter counts each time that it is sent
 * @param operation sends it by a transport
 * @param failure returns the failure of a result; empty if the bucket has answered
 * @param failed returns the result of a failure
 */
record BucketRequest<R>(
        LongAdder counter,
        Function<ObjectStore, R> operation,
        Function<R, Optional<StoreFailure>> failure,
        Function<StoreFailure, R> failed) {}
