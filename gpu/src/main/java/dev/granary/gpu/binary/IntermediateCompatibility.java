package dev.granary.gpu.binary;

import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.binary.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.BinaryCompatibility.Incompatible;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * The rule for intermediate programs: a module of SPIR-V without defects, and the identity of its
 * front end. They are for any device, so there is nothing to compare with the target.
 */
final class IntermediateCompatibility {
    private static final int BINARIES = 2;
    private static final int IDENTITY_LIMIT = 200;

    private IntermediateCompatibility() {}

    static BinaryCompatibility check(KernelBinaries binaries) {
        if (binaries.count() != BINARIES) {
            return new Incompatible("an intermediate program has " + BINARIES + " binaries, not "
                    + binaries.count());
        }
        if (!isIdentity(binaries.binary(1))) {
            return new Incompatible("the identity of the front end is no line of text");
        }
        ContainerBytes module = new ContainerBytes(binaries.binary(0));
        try {
            if (!SpirVReader.isSpirV(module)) {
                return new Incompatible("the intermediate program is no SPIR-V");
            }
            Optional<String> defect = SpirVReader.defect(module);
            return defect.isPresent()
                    ? new Incompatible("malformed SPIR-V: " + defect.get())
                    : new Compatible(SpirVReader.read(module));
        } catch (MalformedContainerException e) {
            return new Incompatible("malformed SPIR-V: " + e.getMessage());
        }
    }

    private static boolean isIdentity(MemorySegment text) {
        if (text.byteSize() == 0 || text.byteSize() > IDENTITY_LIMIT) {
            return false;
        }
        for (long i = 0; i < text.byteSize(); i++) {
            byte c = text.get(ValueLayout.JAVA_BYTE, i);
            if (c < ' ' || c > '~') {
                return false;
            }
        }
        return true;
    }
}
