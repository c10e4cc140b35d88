package dev.granary.gpu.binary;

import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.BinaryCompatibility.Undetermined;
import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.Ptx;

import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rules for NVIDIA's binaries, from the compatibility chapter of its programming guide. Machine
 * code runs on its architecture, and on some later ones of the same major number. Assembler text is
 * compiled for its architecture and all later ones, unless it uses features of one alone.
 */
final class CudaCompatibility {
    private static final Pattern CAPABILITY = Pattern.compile("\\bsm ([0-9]{1,2})\\.([0-9])\\b");

    private CudaCompatibility() {}

    static BinaryCompatibility check(Target target, Cubin cubin) {
        OptionalInt device = capability(target);
        if (device.isEmpty()) {
            return noCapability(target, cubin);
        }
        CudaArchitecture code = cubin.architecture();
        if (code.number() == device.getAsInt()) {
            return new Compatible(cubin.description());
        }
        return code.major() == device.getAsInt() / 10 && code.number() < device.getAsInt()
                ? new Undetermined(cubin.description() + ", of the same major number as sm_"
                        + device.getAsInt())
                : incompatible(cubin, device.getAsInt());
    }

    static BinaryCompatibility check(Target target, Ptx ptx) {
        OptionalInt device = capability(target);
        if (device.isEmpty()) {
            return noCapability(target, ptx);
        }
        CudaArchitecture code = ptx.architecture();
        if (code.number() > device.getAsInt()) {
            return incompatible(ptx, device.getAsInt());
        }
        return code.suffix().isEmpty() || code.number() == device.getAsInt()
                ? new Compatible(ptx.description())
                : new Undetermined(ptx.description() + ", not for all later ones");
    }

    private static OptionalInt capability(Target target) {
        Matcher named = CAPABILITY.matcher(target.device());
        return named.find()
                ? OptionalInt.of(Integer.parseInt(named.group(1)) * 10
                        + Integer.parseInt(named.group(2)))
                : OptionalInt.empty();
    }

    private static Undetermined noCapability(Target target, BinaryContainer container) {
        return new Undetermined(container.description() + "; the compute capability of "
                + target.device() + " is unknown");
    }

    private static Incompatible incompatible(BinaryContainer container, int device) {
        return new Incompatible(container.description() + ", not for sm_" + device);
    }
}
