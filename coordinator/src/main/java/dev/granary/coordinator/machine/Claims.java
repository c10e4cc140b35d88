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
}
