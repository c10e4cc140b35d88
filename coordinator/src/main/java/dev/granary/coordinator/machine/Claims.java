package dev.granary.coordinator.machine;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;

import java.util.Optional;
import java.util.function.Supplier;

/** Claims on ids: one lookup obtains an entry, while the others wait for it. Thread-safe. */
@FunctionalInterface
public interface Claims {
    /** No claims: lookups do not wait for each other. */
    Claims NONE = (_, _) -> Outcome.UNCLAIMED;

    /**
     * Claims {@code id} for a lookup that missed in the local tier, or waits for the entry.
     *
     * @param poll repeats the load from the local tier
     */
    Outcome claim(Id id, Supplier<LoadResult> poll);

    /**
     * Outcome of a claim: the entry that another process has stored, or the claim of the lookup, or
     * neither.
     *
     * @param entry the entry in the local tier
     * @param claim the claim, which the lookup passes on with the primitive
     */
    record Outcome(Optional<Entry> entry, Claim claim) {
        /** The lookup goes on without a claim. */
        public static final Outcome UNCLAIMED = new Outcome(Optional.empty(), Claim.NONE);

        /** Returns the outcome of an entry in the local tier. */
        public static Outcome of(Entry entry) {
            return new Outcome(Optional.of(entry), Claim.NONE);
        }

        static Outcome of(Claim claim) {
            return new Outcome(Optional.empty(), claim);
        }
    }

    /**
     * The claim of a lookup on its id, or {@link #NONE}. It is passed on to write-behind, which
     * closes it when the entry is stored or will not be. Thread-safe; a claim may be closed more
     * than once.
     */
    public interface Claim extends AutoCloseable {
        /** No claim, if none is available or needed. */
        Claim NONE = new Claim() {
            @Override
            public void awaitLaunch() {}

            @Override
            public void launched() {}

            @Override
            public void close() {}
        };

        /**
         * Records that the binaries will be complete after the first launch. Other processes wait
         * for that for a limited time.
         */
        void awaitLaunch();

        /** Records the first launch: the binaries are about to be stored. */
        void launched();

        @Override
        void close();
    }
}
