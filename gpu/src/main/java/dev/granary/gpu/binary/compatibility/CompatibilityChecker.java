package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.Pocl;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.SpirV;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;

import java.lang.foreign.MemorySegment;

/**
 * A check whether binaries are for a target. It reads their containers and calls no driver.
 *
 * <p>{@link Incompatible} is certain: the driver would refuse the binary, compile it anew, or crash
 * on it. Anything unknown, such as the driver of another vendor, is {@link Undetermined}.
 */
public final class CompatibilityChecker {
    // vendors in targets
    private static final String POCL = DriverTraits.POCL;
    private static final String INTEL = "intel";
    private static final String NVIDIA = "nvidia";

    private CompatibilityChecker() {}

    /**
     * Returns the result for the binaries of one primitive: compatible if all are, incompatible if
     * one is, else undetermined. An intermediate program is compatible if it has no defect.
     */
    public static BinaryCompatibility check(Target target, KernelBinaries binaries) {
        if (target.vendor().equals(SpirV.VENDOR)) {
            return IntermediateCompatibility.check(binaries);
        }
        BinaryCompatibility all = new Undetermined("there are no binaries");
        for (int i = 0; i < binaries.count(); i++) {
            BinaryCompatibility one = check(target, binaries.binary(i));
            if (one instanceof Incompatible) {
                return one;
            }
            if (i == 0 || one instanceof Undetermined) {
                all = one;
            }
        }
        return all;
    }

    /** Returns the result for one binary. */
    public static BinaryCompatibility check(Target target, MemorySegment binary) {
        return isKnown(target)
                ? checkKnown(target, BinaryContainer.read(binary))
                : unknownVendor(target);
    }

    /** Returns the result for a binary with this container. */
    public static BinaryCompatibility check(Target target, BinaryContainer container) {
        return isKnown(target) ? checkKnown(target, container) : unknownVendor(target);
    }

    private static boolean isKnown(Target target) {
        return target.vendor().equals(POCL)
                || target.vendor().equals(INTEL)
                || target.vendor().equals(NVIDIA);
    }

    // No switch by patterns here and in the rules: each costs the first restore of a process
    // milliseconds.
    private static BinaryCompatibility checkKnown(Target target, BinaryContainer container) {
        if (container instanceof Malformed) {
            return new Incompatible(container.description());
        }
        if (container instanceof Pocl pocl) {
            return target.vendor().equals(POCL)
                    ? PoclCompatibility.check(target, pocl)
                    : foreign(target, container);
        }
        if (container instanceof Cubin || container instanceof Ptx) {
            return target.vendor().equals(NVIDIA)
                    ? CudaCompatibility.check(target, container)
                    : foreign(target, container);
        }
        if (container instanceof Unrecognized || container instanceof SpirV) {
            return new Undetermined(container.description() + ", which the driver may compile");
        }
        return target.vendor().equals(INTEL)
                ? IntelCompatibility.check(target, container)
                : foreign(target, container);
    }

    private static Incompatible foreign(Target target, BinaryContainer container) {
        return new Incompatible(
                container.description() + ", which no driver of " + target.vendor() + " reads");
    }

    private static Undetermined unknownVendor(Target target) {
        return new Undetermined("the binaries of " + target.vendor() + " have no known container");
    }
}
