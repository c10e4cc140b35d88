package dev.granary.gpu.opencl;

import dev.granary.gpu.Geometry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * The resource of a primitive in one engine: its live kernels, ready to be launched. Made by {@link OpenClEngine#load}, held by the caller,
 * freed by {@link #close()}. For one thread at a time: arguments are state of a kernel.
 */
public final class OpenClKernels implements AutoCloseable {
    private final OpenClEngine engine;
    private final OpenClPrimitive primitive;
    private final ProgramHandle program;
    private final Map<String, Long> kernels = new HashMap<>();
    private long firstLaunchNanos;
    private boolean isClosed;

    OpenClKernels(OpenClEngine engine, OpenClPrimitive primitive, ProgramHandle program) {
        this.engine = engine;
        this.primitive = primitive;
        this.program = program;
    }

    /**
     * Launches a kernel and waits until it has run.
     *
     * @param kernel its name
     * @param geometry the size of the launch
     * @param arguments one for each parameter: an {@link OpenClBuffer} of the same engine, an {@link Integer}, {@link Long}, {@link Float},
     *     {@link Double}, or {@link LocalMemory}
     * @throws OpenClException if the driver refuses the launch
     * @throws IllegalArgumentException for an argument of another type
     */
    public void launch(String kernel, Geometry geometry, Object... arguments) {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
        boolean isFirst = !kernels.containsKey(kernel);
        long start = System.nanoTime();
        long handle = kernels.computeIfAbsent(kernel, name -> engine.binding().createKernel(program.program(), name));
        for (int i = 0; i < arguments.length; i++) {
            setArgument(handle, i, arguments[i]);
        }
        engine.binding().launch(engine.queue(), handle, geometry.global(), geometry.local());
        firstLaunchNanos += isFirst ? System.nanoTime() - start : 0;
        primitive.launched(kernel, geometry);
    }

    /** The time that the first launch of each kernel took, together; where drivers compile at a first launch, it is in here. */
    public Duration firstLaunchTime() {
        return Duration.ofNanos(firstLaunchNanos);
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            kernels.values().forEach(engine.binding()::releaseKernel);
            program.release();
        }
    }

    private void setArgument(long kernel, int index, Object argument) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = switch (argument) {
                case OpenClBuffer buffer -> arena.allocateFrom(ValueLayout.JAVA_LONG, buffer.handle());
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
}
