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

    // Versions of the format in PoCL 1.8 to 7: all have this hash. A later one may have another.
    private static final int FIRST_VERSION = 8;
    private static final int LAST_VERSION = 12;

    private PoclCompatibility() {}

    static BinaryCompatibility check(Target target, Pocl binary) {
        if (binary.deviceHash() == hash(target.device())) {
            return new Compatible(binary);
        }
        if (binary.version() < FIRST_VERSION || binary.version() > LAST_VERSION) {
            return new Undetermined(binary.description() + ": the hash of this version is unknown");
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
