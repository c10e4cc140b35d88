package dev.granary.plans.tuning;

import dev.granary.cache.Sha256;

import java.util.Optional;

/**
 * A record of the plans that are being tried. Drivers abort the process on some kernels, or never
 * return. A plan during whose trial a process ended is not tried by the next one.
 */
@FunctionalInterface
public interface TrialGuard {
    /** A guard that records nothing. */
    TrialGuard NONE = _ -> Optional.of(() -> {});

    /** A trial that is under way. */
    @FunctionalInterface
    interface Trial extends AutoCloseable {
        /** Ends the trial, which the process survived. */
        @Override
        void close();
    }

    /**
     * Records that a plan is tried until the result is closed.
     *
     * @param source the SHA-256 of the generated source
     * @return empty if a process ended during the trial of this plan, so that it must not be tried
     */
    Optional<Trial> begin(Sha256 source);
}
