package dev.granary.gpu.levelzero;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.engine.BuiltProgram;
import dev.granary.gpu.engine.DriverEngine;
import dev.granary.gpu.engine.EngineProgram;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A Level Zero device with a context and an immediate command list, which builds modules, takes
 * their native binaries, restores and launches them. Thread-safe.
 *
 * <p>Buffers and kernels belong to their engine and are closed with it. Closing waits for running
 * calls and launches; later calls throw {@link IllegalStateException}. Launches of several threads
 * may run at the same time.
 */
public final class LevelZeroEngine extends DriverEngine {
    private final ZeContext context;
    private final FrontEnd frontEnd;
    private final ImmediateCommands commands;
    private final ModuleBuilder builder;

    private LevelZeroEngine(ZeContext context, SpirvCompiler compiler) {
        super(context.device(), context.lifetime());
        this.context = context;
        this.frontEnd = new FrontEnd(compiler);
        this.builder = new ModuleBuilder(context);
        this.commands = new ImmediateCommands(context);
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
            context.lifetime().releaseAll(context::destroy);
            throw e;
        }
    }

    /** Returns the device. */
    @Override
    public LevelZeroDevice device() {
        return context.device();
    }

    @Override
    protected BuiltProgram compile(KernelDescriptor descriptor) throws CompileException {
        return frontEnd.compile(descriptor, module -> build(descriptor, module));
    }

    /**
     * Compiles in two steps: the SPIR-V of a front end is kept as an intermediate program, which
     * has a compile time of its own.
     */
    @Override
    public KernelProgram create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        return frontEnd.compile(descriptor, steps, module -> create(descriptor, module));
    }

    /**
     * Creates a program from SPIR-V that a front end has made of the descriptor's source, such as
     * in another process.
     *
     * @throws CompileException if the driver refuses the module, or it lacks a requested kernel
     */
    public KernelProgram create(KernelDescriptor descriptor, MemorySegment module)
            throws CompileException {
        return compiled(descriptor, () -> build(descriptor, module));
    }

    /** Takes the lease for the driver only: a front end is a process, and closing must not wait. */
    private BuiltProgram build(KernelDescriptor descriptor, MemorySegment module)
            throws CompileException {
        return build(descriptor, Optional.of(module), () -> builder.compile(descriptor, module));
    }

    @Override
    protected BuiltProgram restore(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        return builder.restore(descriptor, binaries, source);
    }

    @Override
    protected boolean isCompleteAtBuild() {
        return true;
    }

    @Override
    protected MemorySegment takeBinary(
            KernelDescriptor descriptor, long module, List<Geometry> notLaunched) {
        return builder.binary(descriptor, module);
    }

    @Override
    protected NativeHandle createKernel(long module, String name) {
        return context.own(
                "kernel", context.kernels.create(module, name), context.kernels::destroy);
    }

    @Override
    protected int parameters(long kernel) {
        return context.kernels.parameters(kernel);
    }

    @Override
    protected void setArgument(long kernel, int index, long bytes, long value) {
        context.kernels.setArgument(kernel, index, bytes, value);
    }

    @Override
    protected void launch(long kernel, Geometry geometry, boolean excludesTaking) {
        LaunchShape shape = LaunchShape.of(
                geometry, global -> context.kernels.suggestGroupSize(kernel, global));
        context.kernels.setGroupSize(kernel, shape.groupSize());
        commands.run(list -> context.contexts.appendLaunch(list, kernel, shape.groups()));
    }

    @Override
    protected void releaseContext() {
        context.destroy();
    }

    /**
     * Returns the module of a program for launches by the application itself: the one that
     * {@link #load} uses, or made from the binaries. If there are no binaries, or the driver
     * refuses them, it compiles again, as {@link #load} does.
     *
     * @throws CompileException if the program no longer compiles
     * @throws IllegalStateException if this engine is closed
     */
    public LevelZeroModule module(KernelProgram program) throws CompileException {
        EngineProgram own = own(program);
        return new LevelZeroModule(context, own, retained(own));
    }

    @Override
    public LevelZeroBuffer buffer(long bytes) {
        return LevelZeroBuffer.allocate(this, bytes);
    }

    ZeContext context() {
        return context;
    }

    /** Copies memory of device or host and waits for the end. Requires a lease. */
    void copy(long to, long from, long bytes) {
        commands.run(list -> context.contexts.appendCopy(list, to, from, bytes));
    }
}
