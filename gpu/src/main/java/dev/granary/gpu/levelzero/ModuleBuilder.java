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

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BiFunction;

/**
 * Builder of the modules of one engine, from source or from a native binary. A failed build leaves
 * no native objects. Requires a lease.
 *
 * @param context the context
 */
record ModuleBuilder(ZeContext context) {
    private static final Logger LOG = LoggerFactory.getLogger(ModuleBuilder.class);

    /**
     * Builds a module of SPIR-V.
     *
     * @throws CompileException if the driver refuses it, or it lacks a requested kernel
     */
    BuiltProgram compile(KernelDescriptor descriptor, MemorySegment spirv) throws CompileException {
        ModuleBuild built = build(descriptor, ModuleCalls.Format.SPIRV, spirv);
        if (built.refusal().isPresent()) {
            throw new CompileException(
                    descriptor.name() + " does not compile: "
                            + built.refusal().get().getMessage(),
                    built.log());
        }
        return program(
                descriptor,
                built,
                Primitive.Origin.COMPILED,
                null,
                (missing, all) -> new CompileException(
                        descriptor.name() + " has no kernel " + missing + ": its kernels are "
                                + String.join(", ", all),
                        built.log()));
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
        ModuleBuild built =
                build(descriptor, ModuleCalls.Format.NATIVE, binaries.segments().getFirst());
        if (built.refusal().isPresent()) {
            throw new RestoreException(descriptor.name() + ": the driver refuses the binary: "
                    + built.refusal().get().getMessage() + " " + built.log());
        }
        boolean isRecompiled = built.log().contains(BuiltProgram.RECOMPILED_MARK);
        return program(
                descriptor,
                built,
                isRecompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED,
                isRecompiled || !source.equals(descriptor.target()) ? null : binaries,
                (missing, _) -> RestoreException.missingKernel(
                        descriptor.name() + ": the binary lacks the kernel " + missing));
    }

    private ModuleBuild build(
            KernelDescriptor descriptor, ModuleCalls.Format format, MemorySegment code) {
        String flags = String.join(" ", SpirvCompiler.driverOptions(descriptor));
        return context.modules.build(
                context.handle(), context.device().handle(), format, code, flags);
    }

    /** Returns a module as a program, or throws the exception for a kernel that it lacks. */
    private <X extends Exception> BuiltProgram program(
            KernelDescriptor descriptor,
            ModuleBuild built,
            Primitive.Origin origin,
            @Nullable KernelBinaries binaries,
            BiFunction<String, List<String>, X> missingKernel)
            throws X {
        ModuleCalls calls = context.modules;
        NativeHandle module = context.own("module", built.module(), calls::destroy);
        try {
            List<String> all = calls.kernelNames(built.module());
            for (String entry : descriptor.entries()) {
                if (!all.contains(entry)) {
                    throw missingKernel.apply(entry, all);
                }
            }
            List<String> kernels =
                    descriptor.entries().isEmpty() ? all : List.copyOf(descriptor.entries());
            return new BuiltProgram(module, kernels, origin, binaries);
        } catch (Throwable e) {
            module.release();
            throw e;
        }
    }

    /** Returns the native binary; an empty one if the driver has none, so that none is stored. */
    MemorySegment binary(KernelDescriptor descriptor, long module) {
        try {
            return context.modules.nativeBinary(module);
        } catch (DriverException e) {
            LOG.warn("{} has no native binary: {}", descriptor.name(), e.getMessage());
            return MemorySegment.NULL;
        }
    }
}
