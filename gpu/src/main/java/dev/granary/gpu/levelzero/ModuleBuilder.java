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
import java.util.Optional;

/**
 * Builder of the modules of one engine, from source or from a native binary. A failed build leaves
 * no native objects. Requires a lease.
 *
 * @param context the context
 */
record ModuleBuilder(ZeContext context) {
    private static final Logger LOG = LoggerFactory.getLogger(ModuleBuilder.class);

    /** A built module and the names of all its kernels. */
    private record Module(NativeHandle handle, List<String> kernels) {
        /** Returns a requested kernel that is missing. */
        Optional<String> missing(KernelDescriptor descriptor) {
            return descriptor.entries().stream()
                    .filter(entry -> !kernels.contains(entry))
                    .findFirst();
        }

        BuiltProgram program(
                KernelDescriptor descriptor,
                Primitive.Origin origin,
                @Nullable KernelBinaries binaries) {
            return new BuiltProgram(
                    handle,
                    descriptor.entries().isEmpty() ? kernels : List.copyOf(descriptor.entries()),
                    origin,
                    binaries);
        }
    }

    /**
     * Builds a module of SPIR-V.
     *
     * @throws CompileException if the driver refuses it, or it lacks a requested kernel
     */
    BuiltProgram compile(KernelDescriptor descriptor, MemorySegment spirv) throws CompileException {
        ModuleBuild.Built built =
                switch (build(descriptor, ModuleCalls.Format.SPIRV, spirv)) {
                    case ModuleBuild.Built accepted -> accepted;
                    case ModuleBuild.Refused refused ->
                        throw new CompileException(
                                descriptor.name() + " does not compile: "
                                        + refused.failure().getMessage(),
                                refused.log());
                };
        Module module = module(built);
        Optional<String> missing = module.missing(descriptor);
        if (missing.isPresent()) {
            module.handle.release();
            throw new CompileException(
                    descriptor.name() + " has no kernel " + missing.get() + ": its kernels are "
                            + String.join(", ", module.kernels),
                    built.log());
        }
        return module.program(descriptor, Primitive.Origin.COMPILED, null);
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
        ModuleBuild.Built built =
                switch (build(descriptor, ModuleCalls.Format.NATIVE, binaries.binary(0))) {
                    case ModuleBuild.Built accepted -> accepted;
                    case ModuleBuild.Refused refused ->
                        throw new RestoreException(
                                descriptor.name() + ": the driver refuses the binary: "
                                        + refused.failure().getMessage() + " " + refused.log());
                };
        Module module = module(built);
        Optional<String> missing = module.missing(descriptor);
        if (missing.isPresent()) {
            module.handle.release();
            throw RestoreException.missingKernel(
                    descriptor.name() + ": the binary lacks the kernel " + missing.get());
        }
        boolean isRecompiled = built.log().contains(BuiltProgram.RECOMPILED_MARK);
        return module.program(
                descriptor,
                isRecompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED,
                isRecompiled || !source.equals(descriptor.target()) ? null : binaries);
    }

    private ModuleBuild build(
            KernelDescriptor descriptor, ModuleCalls.Format format, MemorySegment code) {
        String flags = String.join(" ", SpirvCompiler.driverOptions(descriptor));
        return context.calls()
                .modules()
                .build(context.handle(), context.device().handle(), format, code, flags);
    }

    private Module module(ModuleBuild.Built built) {
        ModuleCalls calls = context.calls().modules();
        NativeHandle handle = context.own("module", built.module(), calls::destroy);
        try {
            return new Module(handle, calls.kernelNames(built.module()));
        } catch (RuntimeException | Error e) {
            handle.release();
            throw e;
        }
    }

    /** Returns the native binary; an empty one if the driver has none, so that none is stored. */
    MemorySegment binary(long module) {
        try {
            return context.calls().modules().nativeBinary(module);
        } catch (DriverException e) {
            LOG.warn("A module has no native binary: {}", e.getMessage());
            return MemorySegment.NULL;
        }
    }
}
