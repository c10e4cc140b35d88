package dev.granary.coordinator.publish;

import dev.granary.cache.Primitive;
import dev.granary.coordinator.claim.CompileClaim;

import java.time.Duration;
import java.util.Optional;

/** A primitive whose binaries are to be stored; compared by identity. */
final class CompiledPrimitive {
    final Primitive primitive;
    final Optional<Duration> knownCompileTime;
    // the part of its compile time that is in the counters already
    final long countedNanos;
    final CompileClaim claim;

    CompiledPrimitive(
            Primitive primitive,
            Optional<Duration> knownCompileTime,
            long countedNanos,
            CompileClaim claim) {
        this.primitive = primitive;
        this.knownCompileTime = knownCompileTime;
        this.countedNanos = countedNanos;
        this.claim = claim;
    }
}
