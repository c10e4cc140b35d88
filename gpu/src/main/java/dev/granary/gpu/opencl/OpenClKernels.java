package dev.granary.gpu.opencl;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The kernels of a primitive in one OpenCL engine, ready to launch. Obtained from
 * {@link OpenClEngine#load}, and released by {@link #close()} or with the engine. Not thread-safe:
 * arguments are state of a kernel.
 */
public final class OpenClKernels implements LoadedKernels {
    private final OpenClEngine engine;
    private final OpenClPrimitive primitive;
    private final ProgramHandle program;
    private final Map<String, Kernel> kernels = new HashMap<>();
    private final Set<String> launched = new HashSet<>();
    private long firstLaunchNanos;
    private boolean isClosed;

    private record Kernel(NativeHandle handle, int arguments, boolean hasFixedGroup) {}

    OpenClKernels(OpenClEngine engine, OpenClPrimitive primitive, ProgramHandle program) {
        this.engine = engine;
        this.primitive = primitive;
        this.program = program;
    }

    @Override
    public void createKernels() {
        checkOpen();
        try (var _ = engine.lease()) {
            primitive.kernels().forEach(this::load);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws OpenClException if the driver refuses the launch
     */
    @Override
    public void launch(String kernel, Geometry geometry, Object... arguments) {
        checkOpen();
        boolean isFirst = launched.add(kernel);
        long start = System.nanoTime();
        try (var _ = engine.lease()) {
            Kernel loaded = load(kernel);
            if (loaded.arguments != arguments.length) {
                throw new IllegalArgumentException("The kernel " + kernel + " has "
                        + loaded.arguments + " parameters, not " + arguments.length);
            }
            launch(loaded, geometry, arguments);
        }
        firstLaunchNanos += isFirst ? System.nanoTime() - start : 0;
        // without the lease: the callback may close the engine
        primitive.launched(kernel, geometry);
    }

    /**
     * Sets the arguments and launches; each buffer is held meanwhile, since another thread may
     * close it.
     */
    private void launch(Kernel loaded, Geometry geometry, Object... arguments) {
        List<NativeHandle.Hold> holds = new ArrayList<>(arguments.length);
        try {
            for (int i = 0; i < arguments.length; i++) {
                setArgument(loaded.handle.get(), i, arguments[i], holds);
            }
            if (loaded.hasFixedGroup) {
                PoclLaunchLock.launch(() -> launch(loaded, geometry));
            } else {
                launch(loaded, geometry);
            }
        } finally {
            holds.forEach(NativeHandle.Hold::close);
        }
    }

    private void launch(Kernel loaded, Geometry geometry) {
        engine.binding()
                .launch(engine.queue(), loaded.handle.get(), geometry.global(), geometry.local());
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
    }

    private Kernel load(String name) {
        return kernels.computeIfAbsent(name, this::create);
    }

    private Kernel create(String name) {
        ClBinding binding = engine.binding();
        NativeHandle handle = new NativeHandle(
                engine,
                "kernel",
                binding.createKernel(program.program(), name),
                binding::releaseKernel);
        return new Kernel(
                handle,
                binding.kernelArguments(handle.get()),
                engine.isPocl()
                        && binding.hasFixedGroup(handle.get(), engine.device().handle()));
    }

    /**
     * Returns the total time of the first launch of each kernel. For a driver that compiles at a
     * first launch, it includes compiling.
     */
    public Duration firstLaunchTime() {
        return Duration.ofNanos(firstLaunchNanos);
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            kernels.values().forEach(kernel -> kernel.handle.release());
            program.release();
        }
    }

    private void setArgument(
            long kernel, int index, Object argument, List<NativeHandle.Hold> holds) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case OpenClBuffer buffer ->
                            arena.allocateFrom(ValueLayout.JAVA_LONG, hold(buffer, holds));
                        case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
                        case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
                        case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
                        case Double number -> arena.allocateFrom(ValueLayout.JAVA_DOUBLE, number);
                        case LocalMemory memory -> MemorySegment.NULL.reinterpret(memory.bytes());
                        default ->
                            throw new IllegalArgumentException("Argument " + index + " is a "
                                    + argument.getClass().getName()
                                    + ", which is no type of a kernel argument");
                    };
            engine.binding().setArgument(kernel, index, value.byteSize(), value.address());
        }
    }

    private long hold(OpenClBuffer buffer, List<NativeHandle.Hold> holds) {
        NativeHandle.Hold hold = buffer.holdIn(engine);
        holds.add(hold);
        return hold.handle();
    }
}
