package dev.granary.gpu.binary;

import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.BinaryCompatibility.Undetermined;
import dev.granary.gpu.binary.BinaryContainer.Pocl;

/**
 * Rules for PoCL's binaries. The driver compares the hash in the container with that of its
 * device's build string, which {@code CL_DEVICE_VERSION} ends with, and thus the target's device.
 */
final class PoclCompatibility {
    private static final long FNV_OFFSET = 0xcbf2_9ce4_8422_2325L;
    private static final long FNV_PRIME = 0x100_0000_01b3L;

    // By their sources, versions 8 to 12 have this hash. A rule that is wrong for a version would
    // discard all its entries, so it needs one whose binaries were compared with the driver.
    private static final int VERIFIED_VERSION = 9;

    private PoclCompatibility() {}

    static BinaryCompatibility check(Target target, Pocl binary) {
        if (binary.deviceHash() == hash(target.device())) {
            return new Compatible(binary);
        }
        if (binary.version() != VERIFIED_VERSION) {
            return new Undetermined(
                    binary.description() + ", a version whose hash was not verified");
        }
        return new Incompatible(binary.description() + ", not for " + target.device() + " with "
                + Long.toHexString(hash(target.device())));
    }

    /** Returns the hash of a build string: FNV-1 of 64 bits. */
    static long hash(String build) {
        long hash = FNV_OFFSET;
        for (int i = 0; i < build.length(); i++) {
            hash = (hash * FNV_PRIME) ^ build.charAt(i);
        }
        return hash;
    }
}
