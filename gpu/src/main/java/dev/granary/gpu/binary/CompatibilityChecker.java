package dev.granary.gpu.binary;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.BinaryCompatibility.Undetermined;
import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.IntelArchive;
import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.PatchTokens;
import dev.granary.gpu.binary.BinaryContainer.Pocl;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.SpirV;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.binary.BinaryContainer.Zebin;

import java.lang.foreign.MemorySegment;

/**
 * A check whether binaries are for a target. It reads their containers and calls no driver.
 *
 * <p>{@link Incompatible} is certain: the driver would refuse the binary, compile it anew, or crash
 * on it. Anything unknown, such as the driver of another vendor, is {@link Undetermined}.
 */
public final class CompatibilityChecker {
    private CompatibilityChecker() {}

    /**
     * Returns the result for the binaries of one primitive: compatible if all are, incompatible if
     * one is, else undetermined.
     */
    public static BinaryCompatibility check(Target target, KernelBinaries binaries) {
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
        DriverVendor vendor = DriverVendor.of(target);
        return vendor == DriverVendor.OTHER
                ? otherVendor(target)
                : check(target, vendor, BinaryContainer.read(binary));
    }

    /** Returns the result for a binary with this container. */
    public static BinaryCompatibility check(Target target, BinaryContainer container) {
        DriverVendor vendor = DriverVendor.of(target);
        return vendor == DriverVendor.OTHER
                ? otherVendor(target)
                : check(target, vendor, container);
    }

    private static BinaryCompatibility check(
            Target target, DriverVendor vendor, BinaryContainer container) {
        return switch (container) {
            case Malformed malformed -> new Incompatible(malformed.description());
            case Unrecognized unrecognized -> new Undetermined(unrecognized.description());
            case SpirV module ->
                new Undetermined(module.description() + " is for any device that compiles it");
            case Pocl pocl ->
                vendor == DriverVendor.POCL
                        ? PoclCompatibility.check(target, pocl)
                        : foreign(target, container);
            case Zebin _, PatchTokens _, IntelProgram _, IntelArchive _ ->
                vendor == DriverVendor.INTEL
                        ? IntelCompatibility.check(target, container)
                        : foreign(target, container);
            case Cubin cubin ->
                vendor == DriverVendor.NVIDIA
                        ? CudaCompatibility.check(target, cubin)
                        : foreign(target, container);
            case Ptx ptx ->
                vendor == DriverVendor.NVIDIA
                        ? CudaCompatibility.check(target, ptx)
                        : foreign(target, container);
        };
    }

    private static Incompatible foreign(Target target, BinaryContainer container) {
        return new Incompatible(
                container.description() + ", which no driver of " + target.vendor() + " reads");
    }

    private static Undetermined otherVendor(Target target) {
        return new Undetermined("the binaries of " + target.vendor() + " have no known container");
    }
}
