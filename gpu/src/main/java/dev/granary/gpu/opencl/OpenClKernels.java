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
 * The resource of a primitive in one engine: its live kernels, ready to be launched. Made by {@link OpenClEngine#load}, held by the caller,
 * freed by {@link #close()} or with the engine. For one thread at a time: arguments are state of a kernel.
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
    public void makeLive() {
        checkOpen();
        try (var _ = engine.use()) {
            primitive.kernels().forEach(this::live);
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
        try (var _ = engine.use()) {
            Kernel live = live(kernel);
            if (live.arguments != arguments.length) {
                throw new IllegalArgumentException(
                        "The kernel " + kernel + " has " + live.arguments + " parameters, not " + arguments.length);
            }
            launch(live, geometry, arguments);
        }
        firstLaunchNanos += isFirst ? System.nanoTime() - start : 0;
        primitive.launched(kernel, geometry); // outside of the use: what it calls may close the engine
    }

    /** Sets the arguments and launches; each buffer is held until then, since another thread may close it. */
    private void launch(Kernel live, Geometry geometry, Object... arguments) {
        List<NativeHandle.Hold> held = new ArrayList<>(arguments.length);
        try {
            for (int i = 0; i < arguments.length; i++) {
                setArgument(live.handle.get(), i, arguments[i], held);
            }
            if (live.hasFixedGroup) {
                PoclLaunchLock.launch(() -> launch(live, geometry));
            } else {
                launch(live, geometry);
            }
        } finally {
            held.forEach(NativeHandle.Hold::close);
        }
    }

    private void launch(Kernel live, Geometry geometry) {
        engine.binding().launch(engine.queue(), live.handle.get(), geometry.global(), geometry.local());
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
    }

    private Kernel live(String name) {
        return kernels.computeIfAbsent(name, this::create);
    }

    private Kernel create(String name) {
        ClBinding binding = engine.binding();
        NativeHandle handle =
                new NativeHandle(engine, "kernel", binding.createKernel(program.program(), name), binding::releaseKernel);
        return new Kernel(handle, binding.kernelArguments(handle.get()),
                engine.isPocl() && binding.hasFixedGroup(handle.get(), engine.device().handle()));
    }

    /** The time that the first launch of each kernel took, together; where drivers compile at a first launch, it is in here. */
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

    private void setArgument(long kernel, int index, Object argument, List<NativeHandle.Hold> held) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = switch (argument) {
                case OpenClBuffer buffer -> arena.allocateFrom(ValueLayout.JAVA_LONG, hold(buffer, held));
                case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
                case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
                case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
                case Double number -> arena.allocateFrom(ValueLayout.JAVA_DOUBLE, number);
                case LocalMemory memory -> MemorySegment.NULL.reinterpret(memory.bytes());
                default -> throw new IllegalArgumentException(
                        "Argument " + index + " is a " + argument.getClass().getName() + ", which no kernel parameter takes");
            };
            engine.binding().setArgument(kernel, index, value.byteSize(), value.address());
        }
    }

    private long hold(OpenClBuffer buffer, List<NativeHandle.Hold> held) {
        NativeHandle.Hold hold = buffer.holdIn(engine);
        held.add(hold);
        return hold.handle();
    }
}
