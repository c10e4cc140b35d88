package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.SpirVReader;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;

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
        Optional<String> defect = SpirVReader.defect(binaries.binary(0));
        return defect.isPresent()
                ? new Incompatible("malformed intermediate program: " + defect.get())
                : new Compatible(BinaryContainer.read(binaries.binary(0)));
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
