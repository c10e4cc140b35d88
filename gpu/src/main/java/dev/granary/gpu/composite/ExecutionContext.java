package dev.granary.gpu.composite;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelProgram;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * The context of one execution of a primitive, passed to its {@link ExecutionBody}. Valid only
 * while the body runs, and on its thread.
 */
public final class ExecutionContext {
    private final CompositePrimitive primitive;
    private final EngineSet outermost;
    private final HandleResources resources;
    private final long scratchpadOffset;
    private final Map<String, ? extends DeviceBuffer> arguments;

    ExecutionContext(
            CompositePrimitive primitive,
            EngineSet outermost,
            HandleResources resources,
            long scratchpadOffset,
            Map<String, ? extends DeviceBuffer> arguments) {
        this.primitive = primitive;
        this.outermost = outermost;
        this.resources = resources;
        this.scratchpadOffset = scratchpadOffset;
        this.arguments = arguments;
    }

    void run() {
        primitive.body().run(this);
    }

    /**
     * Returns the operand of that name.
     *
     * @throws IllegalArgumentException if the caller did not pass it
     */
    public DeviceBuffer argument(String name) {
        DeviceBuffer argument = arguments.get(name);
        if (argument == null) {
            throw new IllegalArgumentException(primitive.descriptor().kind()
                    + " needs the argument " + name + "; given are " + arguments.keySet());
        }
        return argument;
    }

    /** Returns the part declared by {@link CreationContext#scratchpad}, with undefined content. */
    public DeviceBuffer scratchpad(String name) {
        ScratchpadLayout.Part part = primitive.scratchpad().part(name);
        return resources.scratchpad(
                new ScratchpadLayout.Part(scratchpadOffset + part.offset(), part.bytes()));
    }

    /** Returns the constant memory declared by {@link CreationContext#constant}. */
    public DeviceBuffer constant(String name) {
        return resources.constant(primitive, name);
    }

    /**
     * Launches a kernel and waits for its completion.
     *
     * @param program a program from {@link CreationContext#kernel}
     * @param kernel the kernel's name in the program
     * @param launchArguments as for {@link dev.granary.gpu.LoadedKernels#launch}
     */
    public void launch(
            KernelProgram program, String kernel, Geometry geometry, Object... launchArguments) {
        resources.kernels(primitive, program).launch(kernel, geometry, launchArguments);
    }

    /**
     * Runs a nested primitive.
     *
     * @param nested a primitive from {@link CreationContext#nested(CompositeDescriptor)}
     * @param nestedArguments its operands, which may include parts of this primitive's scratchpad
     */
    public void run(
            CompositePrimitive nested, Map<String, ? extends DeviceBuffer> nestedArguments) {
        new ExecutionContext(
                        primitive.nested(nested),
                        outermost,
                        resources,
                        scratchpadOffset + primitive.scratchpad().nestedOffset(),
                        nestedArguments)
                .run();
    }

    /**
     * Copies all of {@code from} to the start of {@code to} through host memory; the buffers may
     * belong to different engines.
     *
     * @throws IllegalArgumentException if {@code to} is smaller
     */
    public void copy(DeviceBuffer from, DeviceBuffer to) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(from.byteSize());
            from.readTo(staging);
            to.writeFrom(staging);
        }
    }

    /** Returns the engines of this primitive, among those of the handle. */
    public EngineSet engines() {
        return outermost.forNested(primitive.descriptor());
    }
}
