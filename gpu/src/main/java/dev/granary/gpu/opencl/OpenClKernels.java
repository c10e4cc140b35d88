package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.driver.PoclLaunchLock;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
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
    private final NativeHandle program;
    private final Map<String, Kernel> kernels = new HashMap<>();
    private final Set<String> launched = new HashSet<>();
    private long firstLaunchNanos;
    private boolean isClosed;

    /**
     * A native kernel, its number of arguments, and whether its source fixes the work-group size.
     */
    private record Kernel(NativeHandle handle, int arguments, boolean hasFixedGroup) {}

    OpenClKernels(OpenClEngine engine, OpenClPrimitive primitive, NativeHandle program) {
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
     * @throws DriverException if the driver refuses the launch
     */
    @Override
    public void launch(String kernel, Geometry geometry, Object... arguments) {
        checkOpen();
        long start = System.nanoTime();
        try (var _ = engine.lease();
                Closer holds = new Closer()) {
            long loaded = prepare(kernel, arguments, holds);
            int status = engine.binding()
                    .queues()
                    .launch(
                            engine.engineQueue().handle(),
                            loaded,
                            geometry.global(),
                            geometry.local());
            if (status < 0) {
                throw new DriverException(
                        "A kernel failed with execution status " + status, status);
            }
        }
        if (launched.add(kernel)) {
            firstLaunchNanos += System.nanoTime() - start;
        }
        // without the lease: the callback may close the engine
        primitive.launched(kernel, geometry);
    }

    /**
     * Sets the arguments of a kernel for a launch, and returns its native handle. The objects that
     * the launch uses are held, since another thread may close them.
     */
    private long prepare(String name, Object[] arguments, Closer holds) {
        Kernel loaded = load(name);
        if (loaded.arguments != arguments.length) {
            throw new IllegalArgumentException("The kernel " + name + " has " + loaded.arguments
                    + " parameters, not " + arguments.length);
        }
        long kernel = loaded.handle.get();
        for (int i = 0; i < arguments.length; i++) {
            setArgument(kernel, i, arguments[i], holds);
        }
        if (loaded.hasFixedGroup) {
            PoclLaunchLock.begin();
            holds.add(PoclLaunchLock::end);
        }
        return kernel;
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
        ProgramCalls calls = engine.binding().programs();
        NativeHandle handle = new NativeHandle(
                engine.lifetime(),
                "kernel",
                calls.createKernel(program.get(), name),
                calls::releaseKernel);
        return new Kernel(
                handle,
                calls.kernelArguments(handle.get()),
                engine.isPocl()
                        && calls.hasFixedGroup(handle.get(), engine.device().handle()));
    }

    @Override
    public Duration firstLaunchTime() {
        return Duration.ofNanos(firstLaunchNanos);
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            try (Closer releases = new Closer()) {
                releases.add(program::release);
                kernels.values().forEach(kernel -> releases.add(kernel.handle::release));
            }
        }
    }

    private void setArgument(long kernel, int index, Object argument, Closer holds) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case OpenClBuffer buffer ->
                            arena.allocateFrom(
                                    ValueLayout.JAVA_LONG, buffer.holdIn(engine.lifetime(), holds));
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
            engine.binding()
                    .programs()
                    .setArgument(kernel, index, value.byteSize(), value.address());
        }
    }
}
