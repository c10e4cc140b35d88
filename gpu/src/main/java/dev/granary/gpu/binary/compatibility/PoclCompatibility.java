package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryContainer.Pocl;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;

/**
 * Rules for PoCL's binaries. The driver compares the hash in the container with that of its
 * device's build string, which {@code CL_DEVICE_VERSION} ends with, and thus the target's device.
 */
final class PoclCompatibility {
    // By their sources, versions 8 to 12 have this hash. A rule that is wrong for a version would
    // discard all its entries, so it needs one whose binaries were compared with the driver.
    private static final int VERIFIED_VERSION = 9;

    private PoclCompatibility() {}

    static BinaryCompatibility check(Target target, Pocl binary) {
        if (binary.deviceHash() == Pocl.hash(target.device())) {
            return new Compatible(binary);
        }
        if (binary.version() != VERIFIED_VERSION) {
            return new Undetermined(
                    binary.description() + ", a version whose hash was not verified");
        }
        return new Incompatible(binary.description() + ", not for " + target.device() + " with "
                + Long.toHexString(Pocl.hash(target.device())));
    }
}
