package dev.granary.gpu.binary.compatibility;

import dev.granary.gpu.binary.BinaryContainer;

/** Answer to the question whether a binary is for a target, from its container alone. */
public sealed interface BinaryCompatibility {
    /** Returns the reason in one line. */
    String reason();

    /**
     * The container names the target's device.
     *
     * @param container the container
     */
    record Compatible(BinaryContainer container) implements BinaryCompatibility {
        @Override
        public String reason() {
            return container.description(); // on demand: each hit has this result
        }
    }

    /**
     * The driver of the target cannot use the binary: it is for another device or driver, or is
     * malformed.
     *
     * @param reason the difference, in one line
     */
    record Incompatible(String reason) implements BinaryCompatibility {}

    /**
     * The container or the target does not say enough. Only the driver can decide.
     *
     * @param reason the missing information, in one line
     */
    record Undetermined(String reason) implements BinaryCompatibility {}
}
