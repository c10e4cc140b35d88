package dev.granary.gpu.levelzero;

import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.engine.BuiltProgram;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.ModuleBuild;
import dev.granary.gpu.levelzero.binding.ModuleCalls;
import dev.granary.gpu.spirv.SpirvCompiler;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.TreeSet;

/**
 * Builder of the modules of one engine, from source or from a native binary. A failed build leaves
 * no native objects. Requires a lease.
 *
 * @param context the context
 */
record ModuleBuilder(ZeContext context) {
    private static final Logger LOG = LoggerFactory.getLogger(ModuleBuilder.class);

    /**
     * Text of Intel's build log after the driver has recompiled the embedded intermediate code,
     * since the binary did not fit.
     */
    private static final String RECOMPILED_MARK = "recompiled-from-ir";

    /**
     * Builds a module of SPIR-V.
     *
     * @throws CompileException if the driver refuses it, or it lacks a requested kernel
     */
    BuiltProgram compile(KernelDescriptor descriptor, MemorySegment spirv) throws CompileException {
        return switch (build(descriptor, ModuleCalls.Format.SPIRV, spirv)) {
            case ModuleBuild.Refused refused ->
                throw new CompileException(
                        descriptor.name() + " does not compile: "
                                + refused.failure().getMessage(),
                        refused.log());
            case ModuleBuild.Built built -> {
                NativeHandle module = own(built);
                try {
                    List<String> all = context.calls().modules().kernelNames(built.module());
                    if (!all.containsAll(descriptor.entries())) {
                        throw new CompileException(
                                descriptor.name() + " has no kernel "
                                        + missing(descriptor, all) + ": its kernels are "
                                        + String.join(", ", all),
                                built.log());
                    }
                    yield new BuiltProgram(
                            module, kernels(descriptor, all), Primitive.Origin.COMPILED, null);
                } catch (CompileException | RuntimeException | Error e) {
                    module.release();
                    throw e;
                }
            }
        };
    }

    /**
     * Restores a module from a native binary, which must have been verified.
     *
     * @param source the target of the binary; if it is another one, the binaries of the module are
     *     taken from the driver
     * @throws RestoreException if the driver refuses it, or it lacks a requested kernel
     */
    BuiltProgram restore(KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        return switch (build(descriptor, ModuleCalls.Format.NATIVE, binaries.binary(0))) {
            case ModuleBuild.Refused refused ->
                throw new RestoreException(descriptor.name() + ": the driver refuses the binary: "
                        + refused.failure().getMessage() + " " + refused.log());
            case ModuleBuild.Built built -> {
                NativeHandle module = own(built);
                try {
                    List<String> all = context.calls().modules().kernelNames(built.module());
                    if (!all.containsAll(descriptor.entries())) {
                        throw RestoreException.missingKernel(descriptor.name()
                                + ": the binary lacks the kernel " + missing(descriptor, all));
                    }
                    boolean recompiled = built.log().contains(RECOMPILED_MARK);
                    boolean isOwn = source.equals(descriptor.target());
                    yield new BuiltProgram(
                            module,
                            kernels(descriptor, all),
                            recompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED,
                            recompiled || !isOwn ? null : binaries);
                } catch (RestoreException | RuntimeException | Error e) {
                    module.release();
                    throw e;
                }
            }
        };
    }

    private ModuleBuild build(
            KernelDescriptor descriptor, ModuleCalls.Format format, MemorySegment code) {
        String flags = String.join(" ", SpirvCompiler.driverOptions(descriptor));
        return context.calls()
                .modules()
                .build(context.handle(), context.device().handle(), format, code, flags);
    }

    private NativeHandle own(ModuleBuild.Built built) {
        return context.own("module", built.module(), context.calls().modules()::destroy);
    }

    private static List<String> kernels(KernelDescriptor descriptor, List<String> all) {
        return descriptor.entries().isEmpty() ? all : List.copyOf(descriptor.entries());
    }

    /** Returns the native binary; no binaries if the driver has none, so that nothing is stored. */
    KernelBinaries binaries(long module) {
        try {
            MemorySegment binary = context.calls().modules().nativeBinary(module);
            return binary.byteSize() == 0
                    ? KernelBinaries.none()
                    : KernelBinaries.ofSegments(List.of(binary));
        } catch (DriverException e) {
            LOG.warn("A module has no native binary: {}", e.getMessage());
            return KernelBinaries.none();
        }
    }

    private static String missing(KernelDescriptor descriptor, List<String> all) {
        TreeSet<String> missing = new TreeSet<>(descriptor.entries());
        all.forEach(missing::remove);
        return missing.first();
    }
}
