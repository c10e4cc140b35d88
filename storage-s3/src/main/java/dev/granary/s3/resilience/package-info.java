/** Retries, circuit breaker, deadlines, and counters around an object store. */
@NullMarked
package dev.granary.s3.resilience;

import org.jspecify.annotations.NullMarked;
