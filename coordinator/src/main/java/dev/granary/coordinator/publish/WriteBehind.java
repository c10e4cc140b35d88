package dev.granary.coordinator.publish;

import dev.granary.cache.Primitive;
import dev.granary.coordinator.machine.Claims.Claim;
import dev.granary.coordinator.tier.Found;

/** The work after a lookup, which takes its claim. Thread-safe. */
public interface WriteBehind {
    /** No work: nothing is stored. */
    WriteBehind NONE = new WriteBehind() {
        @Override
        public void compiled(Primitive primitive, long countedNanos, Claim claim) {
            claim.close();
        }

        @Override
        public void restored(Found<?> found, Claim claim) {
            claim.close();
        }
    };

    /**
     * Stores the binaries of a compiled primitive when they are complete, and closes the claim when
     * they are stored or will not be.
     *
     * @param countedNanos the part of the compile time that is in the counters already; the rest,
     *     such as that of a driver that compiles at the launch, is added later
     */
    void compiled(Primitive primitive, long countedNanos, Claim claim);

    /**
     * Stores what the local tier lacks of a restored primitive, and closes the claim as
     * {@link #compiled} does. It is the entry of a layer, or the binaries that the driver returned
     * instead: it compiled again, or the entry is of another namespace.
     */
    void restored(Found<?> found, Claim claim);
}
