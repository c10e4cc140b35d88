package dev.granary.gpu.composite;

import dev.granary.cache.Primitive;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * One execution of a primitive under way: what its {@link ExecutionBody} work with. Valid only while they run, on their thread.
 */
public final class ExecutionContext {
    private final CompositePrimitive primitive;
    private final EngineSet outermost;
    private final ResourceTable resources;
    private final Scratchpad scratchpad;
    private final long scratchpadOffset;
    private final Map<String, ? extends DeviceBuffer> arguments;

    ExecutionContext(CompositePrimitive primitive, EngineSet outermost, ResourceTable resources, Scratchpad scratchpad, long scratchpadOffset,
            Map<String, ? extends DeviceBuffer> arguments) {
        this.primitive = primitive;
        this.outermost = outermost;
        this.resources = resources;
        this.scratchpad = scratchpad;
        this.scratchpadOffset = scratchpadOffset;
        this.arguments = arguments;
    }

    void run() {
        primitive.steps().run(this);
    }

    /**
     * The operand of that name.
     *
     * @throws IllegalArgumentException if the caller did not give it
     */
    public DeviceBuffer argument(String name) {
        DeviceBuffer argument = arguments.get(name);
        if (argument == null) {
            throw new IllegalArgumentException(
                    primitive.descriptor().kind() + " needs the argument " + name + "; given are " + arguments.keySet());
        }
        return argument;
    }

    /** The part of the scratchpad that {@link CreationContext#scratchpad} asked for; its content is undefined. */
    public DeviceBuffer scratchpad(String name) {
        ScratchpadLayout.Part part = primitive.scratchpad().part(name);
        return scratchpad.part(new ScratchpadLayout.Part(scratchpadOffset + part.offset(), part.bytes()));
    }

    /** The constant memory that {@link CreationContext#constant} asked for. */
    public DeviceBuffer constant(String name) {
        return resources.get(primitive).constant(name);
    }

    /**
     * Launches a kernel and waits until it has run.
     *
     * @param program one that {@link CreationContext#kernel} gave
     * @param kernel the kernel's name in it
     * @param launchArguments as {@link dev.granary.gpu.LoadedKernels#launch} takes them
     */
    public void launch(Primitive program, String kernel, Geometry geometry, Object... launchArguments) {
        resources.get(primitive).kernels(program).launch(kernel, geometry, launchArguments);
    }

    /**
     * Runs a nested primitive.
     *
     * @param nested one that {@link CreationContext#nested(CompositeDescriptor)} gave
     * @param nestedArguments its operands; parts of this primitive's scratchpad among them, if need be
     */
    public void run(CompositePrimitive nested, Map<String, ? extends DeviceBuffer> nestedArguments) {
        new ExecutionContext(primitive.nested(nested), outermost, resources, scratchpad, scratchpadOffset + primitive.scratchpad().nestedOffset(),
                nestedArguments).run();
    }

    /**
     * Copies all of {@code from} to the beginning of {@code to}, by way of the host: the buffers may be of different engines.
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

    /** The engines of this primitive, as the handle was opened for them. */
    public EngineSet engines() {
        return outermost.forNested(primitive.descriptor());
    }
}
