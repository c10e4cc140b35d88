package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;
import dev.granary.gpu.levelzero.binding.KernelCalls;
import dev.granary.gpu.lifetime.NativeHandle;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;

/**
 * The kernels of a primitive in one Level Zero engine, ready to launch. Obtained from
 * {@link LevelZeroEngine#load}, and released by {@link #close()} or with the engine. Not
 * thread-safe: arguments are state of a kernel.
 */
public final class LevelZeroKernels implements LoadedKernels {
    private final LevelZeroEngine engine;
    private final LevelZeroPrimitive primitive;
    private final NativeModule module;
    private final KernelCalls calls;
    private final Map<String, Kernel> kernels = new HashMap<>();
    private boolean isClosed;

    /** A native kernel and its number of parameters. */
    private record Kernel(NativeHandle handle, int parameters) {}

    /** Takes ownership of the module. */
    LevelZeroKernels(LevelZeroEngine engine, LevelZeroPrimitive primitive, NativeModule module) {
        this.engine = engine;
        this.primitive = primitive;
        this.module = module;
        this.calls = engine.context().calls().kernels();
    }

    @Override
    public void createKernels() {
        checkOpen();
        try (var _ = engine.context().lease()) {
            primitive.kernels().forEach(this::kernel);
        }
    }

    @Override
    public void launch(String kernel, Geometry geometry, Object... arguments) {
        checkOpen();
        try (var _ = engine.context().lease();
                LaunchArguments held = new LaunchArguments(engine)) {
            Kernel loaded = kernel(kernel);
            if (loaded.parameters != arguments.length) {
                throw new IllegalArgumentException("The kernel " + kernel + " has "
                        + loaded.parameters + " parameters, not " + arguments.length);
            }
            long handle = loaded.handle.get();
            for (int i = 0; i < arguments.length; i++) {
                setArgument(handle, i, arguments[i], held);
            }
            LaunchShape shape = LaunchShape.of(geometry, size -> calls.suggestGroupSize(handle, size));
            calls.setGroupSize(handle, shape.groupSize());
            engine.commands().run((list, event) -> engine.context()
                    .calls()
                    .commands()
                    .appendLaunch(list, handle, shape.groups(), event));
        }
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            kernels.values().forEach(kernel -> kernel.handle.release());
            module.handle().release();
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
    }

    private Kernel kernel(String name) {
        return kernels.computeIfAbsent(name, this::create);
    }

    private Kernel create(String name) {
        try (NativeHandle.Hold held = module.handle().hold()) {
            NativeHandle handle = engine.context()
                    .own("kernel", calls.create(held.handle(), name), calls::destroy);
            return new Kernel(handle, calls.parameters(handle.get()));
        }
    }

    private void setArgument(long kernel, int index, Object argument, LaunchArguments held) {
        if (argument instanceof LocalMemory local) {
            calls.setArgument(kernel, index, local.bytes(), 0);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case LevelZeroBuffer buffer ->
                            arena.allocateFrom(ValueLayout.JAVA_LONG, held.addressOf(buffer));
                        case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
                        case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
                        case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
                        case Double number -> arena.allocateFrom(ValueLayout.JAVA_DOUBLE, number);
                        default ->
                            throw new IllegalArgumentException("Argument " + index + " is a "
                                    + argument.getClass().getName()
                                    + ", which is no type of a kernel argument");
                    };
            calls.setArgument(kernel, index, value.byteSize(), value.address());
        }
    }
}
