package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LocalMemory;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.GroupShape;
import dev.granary.gpu.levelzero.binding.KernelCalls;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A kernel of a module. Not thread-safe: arguments and group size are its state.
 *
 * @param calls the calls for kernels
 * @param name its name
 * @param handle the native kernel
 * @param parameters the number of its parameters
 */
record NativeKernel(KernelCalls calls, String name, NativeHandle handle, int parameters) {
    /** Creates a kernel. Requires a lease, and an owner of the module. */
    static NativeKernel create(ZeContext context, NativeModule module, String name) {
        KernelCalls calls = context.calls().kernels();
        NativeHandle handle =
                context.own("kernel", calls.create(module.handle().get(), name), calls::destroy);
        try {
            return new NativeKernel(calls, name, handle, calls.parameters(handle.get()));
        } catch (RuntimeException | Error e) {
            handle.release();
            throw e;
        }
    }

    /**
     * Sets the arguments and the group size of the next launch. Requires a lease.
     *
     * @param held holds the buffers among the arguments
     * @return the number of groups
     * @throws IllegalArgumentException if the arguments or the geometry do not fit
     */
    GroupShape prepare(LevelZeroEngine engine, Geometry geometry, Object[] arguments, Closer held) {
        if (parameters != arguments.length) {
            throw new IllegalArgumentException("The kernel " + name + " has " + parameters
                    + " parameters, not " + arguments.length);
        }
        for (int i = 0; i < arguments.length; i++) {
            setArgument(engine, i, arguments[i], held);
        }
        LaunchShape shape =
                LaunchShape.of(geometry, global -> calls.suggestGroupSize(handle.get(), global));
        calls.setGroupSize(handle.get(), shape.groupSize());
        return shape.groups();
    }

    private void setArgument(LevelZeroEngine engine, int index, Object argument, Closer held) {
        if (argument instanceof LocalMemory local) {
            calls.setArgument(handle.get(), index, local.bytes(), 0);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value =
                    switch (argument) {
                        case LevelZeroBuffer buffer ->
                            arena.allocateFrom(
                                    ValueLayout.JAVA_LONG,
                                    buffer.holdIn(engine.context().lifetime(), held));
                        case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
                        case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
                        case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
                        case Double number -> arena.allocateFrom(ValueLayout.JAVA_DOUBLE, number);
                        default ->
                            throw new IllegalArgumentException("Argument " + index + " is a "
                                    + argument.getClass().getName()
                                    + ", which is no type of a kernel argument");
                    };
            calls.setArgument(handle.get(), index, value.byteSize(), value.address());
        }
    }
}
