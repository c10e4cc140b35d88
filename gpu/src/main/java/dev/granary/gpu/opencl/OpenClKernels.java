package dev.granary.gpu.opencl;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;
import dev.granary.gpu.lifetime.NativeHandle;
import dev.granary.gpu.lifetime.Releases;
import dev.granary.gpu.opencl.binding.ProgramCalls;

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

    /**
     * A native kernel, its number of arguments, and whether its source fixes the work-group size.
     */
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
        long start = System.nanoTime();
        try (var _ = engine.lease();
                LaunchHolds holds = new LaunchHolds()) {
            long loaded = prepare(kernel, arguments, holds);
            int status = engine.binding()
                    .queues()
                    .launch(engine.queue().handle(), loaded, geometry.global(), geometry.local());
            if (status < 0) {
                throw OpenClException.ofExecution("A kernel", status);
            }
        }
        if (launched.add(kernel)) {
            firstLaunchNanos += System.nanoTime() - start;
        }
        // without the lease: the callback may close the engine
        primitive.launched(kernel, geometry);
    }

    /**
     * Enqueues a launch after all events in {@code after}, and returns without waiting for it.
     *
     * <p>Arguments and these kernels may be changed, launched again and closed at once: numbers are
     * copied, and the engine keeps the memory of the buffers until the launch has completed. A
     * queue that executes in order starts the launches in their order.
     *
     * @param after events of any engine in the same context, such as a {@link OpenClEngine#marker
     *     marker}; if one of them fails, the launch fails
     * @param arguments as for {@link #launch}
     * @throws IllegalArgumentException if an argument has another type or belongs to another
     *     engine, the number of arguments is wrong, or an event belongs to another context
     * @throws IllegalStateException if these kernels, a buffer or the engine is closed
     * @throws OpenClException if the driver refuses the launch; failures of its execution are
     *     reported by the event
     */
    public OpenClEvent launchAsync(
            String kernel, Geometry geometry, List<OpenClEvent> after, Object... arguments) {
        checkOpen();
        LaunchHolds holds = new LaunchHolds();
        OpenClEvent event = new OpenClEvent(
                engine.pendingEvents(),
                "The launch of " + kernel,
                holds,
                () -> primitive.launched(kernel, geometry));
        // before the lease: retaining an event waits for a thread that finishes it
        try (WaitList waitList = WaitList.of(after, engine.queue().context())) {
            OpenClException failed = waitList.failure();
            if (failed != null) {
                return event.failed(failed);
            }
            try (var _ = engine.lease()) {
                enqueue(event, holds, kernel, geometry, waitList.handles(), arguments);
            }
        }
        return event;
    }

    private void enqueue(
            OpenClEvent event,
            LaunchHolds holds,
            String kernel,
            Geometry geometry,
            List<Long> waitList,
            Object... arguments) {
        try {
            long loaded = prepare(kernel, arguments, holds);
            long queue = engine.queue().handle();
            engine.pendingEvents().enqueue(event, () -> engine.binding()
                    .queues()
                    .enqueue(queue, loaded, geometry.global(), geometry.local(), waitList));
        } catch (RuntimeException | Error e) {
            holds.close();
            throw e;
        }
    }

    /**
     * Sets the arguments of a kernel for a launch, and returns its native handle. The objects that
     * the launch uses are held, since another thread may close them.
     */
    private long prepare(String name, Object[] arguments, LaunchHolds holds) {
        Kernel loaded = load(name);
        if (loaded.arguments != arguments.length) {
            throw new IllegalArgumentException("The kernel " + name + " has " + loaded.arguments
                    + " parameters, not " + arguments.length);
        }
        holds.add(program);
        long kernel = holds.add(loaded.handle.hold());
        for (int i = 0; i < arguments.length; i++) {
            setArgument(kernel, i, arguments[i], holds);
        }
        if (loaded.hasFixedGroup) {
            holds.lockPocl();
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
                calls.createKernel(program.program(), name),
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
            List<Runnable> releases = new ArrayList<>();
            kernels.values().forEach(kernel -> releases.add(kernel.handle::release));
            releases.add(program::release);
            Releases.perform(releases);
        }
    }

    private void setArgument(long kernel, int index, Object argument, LaunchHolds holds) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case OpenClBuffer buffer ->
                            arena.allocateFrom(
                                    ValueLayout.JAVA_LONG, holds.add(buffer.holdIn(engine)));
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
