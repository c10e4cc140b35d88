package dev.granary.gpu.binary;

import dev.granary.cache.Target;
import dev.granary.gpu.DriverTraits;

/** The vendor of a driver whose containers are known. */
enum DriverVendor {
    POCL,
    INTEL,
    NVIDIA,
    /** Any other vendor. */
    OTHER;

    static DriverVendor of(Target target) {
        return switch (target.vendor()) {
            case DriverTraits.POCL -> POCL;
            case "intel" -> INTEL;
            case "nvidia" -> NVIDIA;
            default -> OTHER;
        };
    }
}
