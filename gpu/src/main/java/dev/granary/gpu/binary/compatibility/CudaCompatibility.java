package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;
import dev.granary.gpu.device.CudaArchitecture;

/**
 * Rules for NVIDIA's binaries, from the compatibility chapter of its programming guide. Machine
 * code runs on its architecture, and on some later ones of the same major number. Assembler text is
 * compiled for its architecture and all later ones, unless it uses features of one alone.
 */
final class CudaCompatibility {
    /** The device of a target ends with this mark and the compute capability. */
    private static final String CAPABILITY = " sm ";

    private static final int NONE = -1;

    private CudaCompatibility() {}

    static BinaryCompatibility check(Target target, BinaryContainer container) {
        int device = capability(target);
        if (device == NONE) {
            return noCapability(target, container);
        }
        return container instanceof Ptx ptx
                ? checkText(device, ptx)
                : checkCode(device, (Cubin) container);
    }

    private static BinaryCompatibility checkCode(int device, Cubin cubin) {
        CudaArchitecture code = cubin.architecture();
        if (code.number() == device) {
            return new Compatible(cubin);
        }
        return code.major() == device / 10 && code.number() < device
                ? new Undetermined(
                        cubin.description() + ", of the same major number as sm_" + device)
                : incompatible(cubin, device);
    }

    private static BinaryCompatibility checkText(int device, Ptx ptx) {
        CudaArchitecture code = ptx.architecture();
        if (code.number() > device) {
            return incompatible(ptx, device);
        }
        return code.suffix().isEmpty() || code.number() == device
                ? new Compatible(ptx)
                : new Undetermined(ptx.description() + ", not for all later ones");
    }

    /** Returns the capability times ten, such as 90 for 9.0. */
    private static int capability(Target target) {
        int mark = target.device().lastIndexOf(CAPABILITY);
        String text = mark < 0 ? "" : target.device().substring(mark + CAPABILITY.length());
        int dot = text.length() - 2;
        boolean isCapability = (dot == 1 || dot == 2)
                && text.charAt(dot) == '.'
                && isNumber(text.substring(0, dot))
                && isNumber(text.substring(dot + 1));
        return isCapability
                ? Integer.parseInt(text.substring(0, dot) + text.substring(dot + 1))
                : NONE;
    }

    private static boolean isNumber(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return true;
    }

    private static Undetermined noCapability(Target target, BinaryContainer container) {
        return new Undetermined(container.description() + "; the compute capability of "
                + target.device() + " is unknown");
    }

    private static Incompatible incompatible(BinaryContainer container, int device) {
        return new Incompatible(container.description() + ", not for sm_" + device);
    }
}
