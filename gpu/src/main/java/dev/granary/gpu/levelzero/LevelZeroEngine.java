package dev.granary.gpu.levelzero;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.StepProvider;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.engine.LaunchableKernels;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.gpu.spirv.SpirvSupport;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * A Level Zero device with a context and an immediate command list, which builds modules, takes
 * their native binaries, restores and launches them. Thread-safe.
 *
 * <p>Buffers and kernels belong to their engine and are closed with it. Closing waits for running
 * calls and launches; later calls throw {@link IllegalStateException}. Launches of several threads
 * may run at the same time.
 */
public final class LevelZeroEngine implements KernelEngine<LevelZeroPrimitive> {
    private static final Logger LOG = LoggerFactory.getLogger(LevelZeroEngine.class);

    private final ZeContext context;
    private final FrontEnd frontEnd;
    private final ImmediateCommands commands;
    private final ModuleBuilder builder;
    private final EngineModules modules = new EngineModules();

    private LevelZeroEngine(ZeContext context, SpirvCompiler compiler) {
        this.context = context;
        this.frontEnd = new FrontEnd(compiler);
        this.builder = new ModuleBuilder(context);
        try (var _ = context.lease()) {
            this.commands = new ImmediateCommands(context);
        }
    }

    /**
     * Opens a context on {@code device}. Source is compiled by the tools on the {@code PATH}.
     *
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if the device executes no kernels
     */
    public static LevelZeroEngine open(LevelZeroDevice device) {
        return open(device, SpirvCompiler.onPath());
    }

    /**
     * Opens a context on {@code device}.
     *
     * @param compiler the compiler of OpenCL C to SPIR-V. It does not enter the id: two compilers
     *     must make programs of equal results. SPIR-V is kept only of one with an identity
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if the device executes no kernels
     */
    public static LevelZeroEngine open(LevelZeroDevice device, SpirvCompiler compiler) {
        return in(ZeContext.open(device), compiler);
    }

    /**
     * Returns an engine in a context of the application, whose modules the application can use. Its
     * ids and entries are those of {@link #open an engine} with a context of its own. Closing it
     * leaves the context.
     *
     * @param driver the {@code ze_driver_handle_t} of the context
     * @param context a {@code ze_context_handle_t}, which must stay valid until this engine is
     *     closed. The driver cannot be asked whether it belongs to the device.
     * @param device a {@code ze_device_handle_t} of the context; a sub-device is possible
     * @param compiler as for {@link #open(LevelZeroDevice, SpirvCompiler)}
     * @throws IllegalArgumentException if the context is 0, or {@code LevelZero.devices()} has no
     *     such device of that driver
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if the device executes no kernels
     */
    public static LevelZeroEngine wrap(
            long driver, long context, long device, SpirvCompiler compiler) {
        if (context == 0) {
            throw new IllegalArgumentException("The context (ze_context_handle_t) is 0");
        }
        LevelZeroDevice found = LevelZero.devices().stream()
                .flatMap(main -> Stream.concat(Stream.of(main), main.subDevices().stream()))
                .filter(each -> each.driver() == driver && each.handle() == device)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("The device 0x"
                        + Long.toHexString(device) + " of the driver 0x" + Long.toHexString(driver)
                        + " is none that LevelZero.devices() returns: pass driver, context and"
                        + " device in this order"));
        return in(ZeContext.wrap(found, context), compiler);
    }

    /** Returns an engine in a context of the application, with the tools on the {@code PATH}. */
    public static LevelZeroEngine wrap(long driver, long context, long device) {
        return wrap(driver, context, device, SpirvCompiler.onPath());
    }

    private static LevelZeroEngine in(ZeContext context, SpirvCompiler compiler) {
        try {
            return new LevelZeroEngine(context, compiler);
        } catch (RuntimeException | Error e) {
            context.destroyAll();
            throw e;
        }
    }

    @Override
    public Target target() {
        return device().target();
    }

    /** Returns the targets of OpenCL that the device was opened with. */
    @Override
    public List<Target> readableTargets() {
        return device().readableTargets();
    }

    @Override
    public EngineKind kind() {
        return device().kind();
    }

    /** Returns the device. */
    public LevelZeroDevice device() {
        return context.device();
    }

    @Override
    public LevelZeroPrimitive create(KernelDescriptor descriptor) throws CompileException {
        requireTarget(descriptor);
        context.lease().close(); // throws if the engine is closed
        long start = System.nanoTime();
        return compiled(descriptor, compile(descriptor), start);
    }

    /** Compiles in two steps: the SPIR-V of a front end is kept as an intermediate program. */
    @Override
    public LevelZeroPrimitive create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        requireTarget(descriptor);
        context.lease().close(); // throws if the engine is closed
        long start = System.nanoTime();
        return compiled(
                descriptor,
                frontEnd.compile(descriptor, steps, module -> build(descriptor, module)),
                start);
    }

    /**
     * Creates a primitive from SPIR-V that a front end has made of the descriptor's source, such as
     * in another process.
     *
     * @throws CompileException if the driver refuses the module, or it lacks a requested kernel
     */
    public LevelZeroPrimitive create(KernelDescriptor descriptor, MemorySegment module)
            throws CompileException {
        requireTarget(descriptor);
        long start = System.nanoTime();
        return compiled(descriptor, build(descriptor, module), start);
    }

    private LevelZeroPrimitive compiled(
            KernelDescriptor descriptor, ModuleBuilder.BuiltModule compiled, long start) {
        LevelZeroPrimitive primitive = new LevelZeroPrimitive(
                descriptor,
                Primitive.Origin.COMPILED,
                compiled.module().kernels(),
                compiled.binaries(),
                Duration.ofNanos(System.nanoTime() - start));
        modules.keep(primitive, compiled.module());
        return primitive;
    }

    @Override
    public LevelZeroPrimitive create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        requireTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        return restored(descriptor, binaries, target());
    }

    @Override
    public LevelZeroPrimitive create(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        requireTarget(descriptor);
        if (!readableTargets().contains(source)) {
            throw new RestoreException(
                    descriptor.name() + ": this engine does not read binaries of " + source.path());
        }
        return restored(descriptor, binaries, source);
    }

    private LevelZeroPrimitive restored(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        if (descriptor.getId().isEmpty()) {
            throw new RestoreException(descriptor.name() + " is not cacheable: "
                    + descriptor.getId().reason());
        }
        if (binaries.count() != 1 || binaries.byteSize() == 0) {
            throw new RestoreException(
                    descriptor.name() + ": one binary is needed, not " + binaries);
        }
        ModuleBuilder.BuiltModule restored = restore(descriptor, binaries, source);
        LevelZeroPrimitive primitive = new LevelZeroPrimitive(
                descriptor,
                restored.origin(),
                restored.module().kernels(),
                restored.binaries(),
                Duration.ZERO);
        modules.keep(primitive, restored.module());
        return primitive;
    }

    /**
     * Loads the primitive's kernels: from a module of this engine if there is one, else from the
     * binaries. If there are no binaries, or the driver refuses them, it compiles again and reports
     * that through {@link Primitive#onCompiledAgain}. A module stays until this engine closes or
     * the primitive is unreachable.
     *
     * @throws RestoreException if the program no longer compiles
     * @throws IllegalStateException if this engine is closed
     */
    @Override
    public LoadedKernels load(LevelZeroPrimitive primitive) throws RestoreException {
        try {
            return new LaunchableKernels(
                    context.lifetime(),
                    new LevelZeroLauncher(context, commands),
                    primitive,
                    retainModule(primitive).handle(),
                    (_, _) -> {});
        } catch (CompileException e) {
            throw new RestoreException(primitive.descriptor().name()
                    + " has no binaries for this engine, and no longer compiles: "
                    + e.getMessage());
        }
    }

    /**
     * Returns the primitive's module for launches by the application itself: the one that
     * {@link #load} uses, or made from the binaries. If there are no binaries, or the driver
     * refuses them, it compiles again, as {@link #load} does.
     *
     * @throws CompileException if the program no longer compiles
     * @throws IllegalStateException if this engine is closed
     */
    public LevelZeroModule module(LevelZeroPrimitive primitive) throws CompileException {
        return new LevelZeroModule(context, retainModule(primitive));
    }

    private NativeModule retainModule(LevelZeroPrimitive primitive) throws CompileException {
        requireTarget(primitive.descriptor());
        context.lease().close(); // throws if the engine is closed
        NativeModule module = modules.retained(primitive);
        if (module == null) {
            NativeModule made = createModule(primitive);
            // one owner is the table, the other one the caller
            if (made.handle().retain()) {
                modules.keep(primitive, made);
            }
            module = made;
        }
        return module;
    }

    /** Creates a module of this engine for that primitive. */
    private NativeModule createModule(LevelZeroPrimitive primitive) throws CompileException {
        KernelDescriptor descriptor = primitive.descriptor();
        KernelBinaries binaries = primitive.binariesForEngines();
        if (!binaries.isEmpty()) {
            try {
                ModuleBuilder.BuiltModule restored = restore(descriptor, binaries, target());
                if (restored.origin() == Primitive.Origin.RECOMPILED) {
                    primitive.compiledAgain(restored.binaries(), Duration.ZERO);
                }
                return restored.module();
            } catch (RestoreException e) {
                LOG.warn("{} is compiled again: {}", descriptor.name(), e.getMessage());
            }
        }
        long start = System.nanoTime();
        ModuleBuilder.BuiltModule compiled = compile(descriptor);
        primitive.compiledAgain(compiled.binaries(), Duration.ofNanos(System.nanoTime() - start));
        return compiled.module();
    }

    @Override
    public LevelZeroBuffer buffer(long bytes) {
        return LevelZeroBuffer.allocate(this, bytes);
    }

    /** Destroys the context and all objects in it, after running calls have ended. */
    @Override
    public void close() {
        if (context.refuseLeases()) {
            context.destroyAll();
        }
    }

    ZeContext context() {
        return context;
    }

    /** Copies memory of device or host and waits for the end. Requires a lease. */
    void copy(long to, long from, long bytes) {
        commands.run((list, event) ->
                context.calls().commands().appendCopy(list, to, from, bytes, event));
    }

    private ModuleBuilder.BuiltModule compile(KernelDescriptor descriptor) throws CompileException {
        return frontEnd.compile(descriptor, module -> build(descriptor, module));
    }

    /** Takes the lease for the driver only: a front end is a process, and closing must not wait. */
    private ModuleBuilder.BuiltModule build(KernelDescriptor descriptor, MemorySegment module)
            throws CompileException {
        try (var _ = context.lease()) {
            new SpirvSupport(target().vendor(), device().intermediateLanguages())
                    .check(descriptor, module, device().toString());
            return builder.compile(descriptor, module);
        } catch (DriverException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + e.getMessage(), "");
        }
    }

    private ModuleBuilder.BuiltModule restore(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        try (var _ = context.lease()) {
            return builder.restore(descriptor, binaries, source);
        } catch (DriverException e) {
            throw new RestoreException(
                    descriptor.name() + ": the driver refuses the binary: " + e.getMessage());
        }
    }
}
