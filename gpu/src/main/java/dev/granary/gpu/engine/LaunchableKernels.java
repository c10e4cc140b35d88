package dev.granary.gpu.engine;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The kernels of a program in one engine. */
final class LaunchableKernels implements LoadedKernels {
    private static final int MAX_ALIGNMENT = 128; // of a double16

    private final EngineLifetime lifetime;
    private final DriverEngine engine;
    private final EngineProgram program;
    private final NativeHandle handle;
    private final Map<String, Kernel> kernels = new HashMap<>();
    private final Set<String> launched = new HashSet<>();
    private long firstLaunchNanos;
    private boolean isClosed;

    private record Kernel(NativeHandle handle, int parameters, boolean excludesTaking) {}

    /** Takes over the caller's reference to the native program. */
    LaunchableKernels(
            EngineLifetime lifetime,
            DriverEngine engine,
            EngineProgram program,
            NativeHandle handle) {
        this.lifetime = lifetime;
        this.engine = engine;
        this.program = program;
        this.handle = handle;
    }

    @Override
    public void createKernels() {
        checkOpen();
        try (var _ = lifetime.lease()) {
            program.kernels().forEach(this::kernel);
        }
    }

    @Override
    public void launch(String name, Geometry geometry, Object... arguments) {
        checkOpen();
        long start = System.nanoTime();
        try (var _ = lifetime.lease();
                Closer held = new Closer()) {
            Kernel kernel = kernel(name);
            setArguments(name, kernel, arguments, held);
            engine.launch(kernel.handle.get(), geometry, kernel.excludesTaking);
        }
        if (launched.add(name)) {
            firstLaunchNanos += System.nanoTime() - start;
        }
        // without the lease: an action may close the engine
        program.launched(name, geometry);
    }

    /** Sets the arguments. Buffers among them are held, since another thread may close them. */
    private void setArguments(String name, Kernel kernel, Object[] arguments, Closer held) {
        if (kernel.parameters != arguments.length) {
            throw new IllegalArgumentException("The kernel " + name + " has " + kernel.parameters
                    + " parameters, not " + arguments.length);
        }
        for (int i = 0; i < arguments.length; i++) {
            try {
                setArgument(kernel.handle.get(), i, arguments[i], held);
            } catch (DriverException e) {
                throw new DriverException(
                        "The kernel " + name + " does not take "
                                + arguments[i].getClass().getSimpleName() + " " + arguments[i]
                                + " as parameter " + i + ": " + e.getMessage(),
                        e.code());
            }
        }
    }

    private void setArgument(long kernel, int index, Object argument, Closer held) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case EngineBuffer<?> buffer ->
                            arena.allocateFrom(
                                    ValueLayout.JAVA_LONG, buffer.holdIn(lifetime, held));
                        case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
                        case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
                        case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
                        case Double number -> arena.allocateFrom(ValueLayout.JAVA_DOUBLE, number);
                        case MemorySegment bytes -> copied(bytes, arena);
                        case ByteBuffer bytes -> copied(MemorySegment.ofBuffer(bytes), arena);
                        case LocalMemory memory -> MemorySegment.NULL.reinterpret(memory.bytes());
                        default ->
                            throw new IllegalArgumentException("Argument " + index + " is a "
                                    + argument.getClass().getName()
                                    + ", which is no type of a kernel argument");
                    };
            engine.setArgument(kernel, index, value.byteSize(), value.address());
        }
    }

    private static MemorySegment copied(MemorySegment bytes, Arena arena) {
        return arena.allocate(bytes.byteSize(), MAX_ALIGNMENT).copyFrom(bytes);
    }

    private Kernel kernel(String name) {
        return kernels.computeIfAbsent(name, this::create);
    }

    private Kernel create(String name) {
        NativeHandle kernel;
        try {
            kernel = engine.createKernel(handle.get(), name);
        } catch (DriverException e) {
            throw new DriverException(
                    e.getMessage() + "; the kernels of " + program.descriptor().name() + " are "
                            + String.join(", ", program.kernels()),
                    e.code());
        }
        try {
            return new Kernel(
                    kernel, engine.parameters(kernel.get()), engine.excludesTaking(kernel.get()));
        } catch (RuntimeException | Error e) {
            kernel.release();
            throw e;
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
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
                releases.add(handle::release);
                kernels.values().forEach(kernel -> releases.add(kernel.handle::release));
            }
        }
    }
}
