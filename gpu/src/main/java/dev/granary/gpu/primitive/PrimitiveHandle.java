package dev.granary.gpu.primitive;

import dev.granary.cache.CompileException;
import dev.granary.cache.build.StackRoom;
import dev.granary.gpu.DeviceBuffer;
import java.util.List;
import java.util.Map;

/**
 * A composite primitive ready to be run: the shared primitive, the engines, and what belongs to them and to this caller alone: resources and
 * scratchpad. Closing it frees those; the primitive stays in the cache, the engines stay open.
 *
 * <p>Thread-safe: executions of one handle happen one after the other, since they share its scratchpad and its kernels. Who wants two at once
 * opens two handles.
 */
public final class PrimitiveHandle implements AutoCloseable {
    private final CompositePrimitive primitive;
    private final Engines engines;
    private final ResourceMapper resources;
    private final Scratchpad scratchpad;
    private final Object using = new Object(); // held while it runs; a monitor is let go whatever overflows
    private boolean isClosed; // guarded by using

    private PrimitiveHandle(CompositePrimitive primitive, Engines engines, ResourceMapper resources, Scratchpad scratchpad) {
        this.primitive = primitive;
        this.engines = engines;
        this.resources = resources;
        this.scratchpad = scratchpad;
    }

    /** Makes all that the primitive needs on these engines; what fails leaves nothing behind. */
    static PrimitiveHandle open(CompositePrimitive primitive, Engines engines) throws CompileException {
        StackRoom.require();
        ResourceMapper resources = new ResourceMapper();
        try {
            resources.make(primitive, engines);
            return withScratchpad(primitive, engines, resources, new Scratchpad(engines.main(), primitive.scratchpadBytes()));
        } catch (Throwable e) {
            Closing.after(e, resources::close);
            throw e;
        }
    }

    private static PrimitiveHandle withScratchpad(
            CompositePrimitive primitive, Engines engines, ResourceMapper resources, Scratchpad scratchpad) {
        try {
            return new PrimitiveHandle(primitive, engines, resources, scratchpad);
        } catch (Throwable e) { // no memory: nobody has the scratchpad
            Closing.after(e, scratchpad::close);
            throw e;
        }
    }

    /** What is run; shared with others. */
    public CompositePrimitive primitive() {
        return primitive;
    }

    /** The engines that it runs on. */
    public Engines engines() {
        return engines;
    }

    /** How many resources it owns: one for each different primitive among its own and all that are nested in it. */
    public int resources() {
        return resources.count();
    }

    /**
     * Runs the primitive once, and returns when it has run.
     *
     * @param arguments the operands by the names that the implementation gives them, each on the engine that it expects; they stay the caller's
     * @throws IllegalArgumentException if an operand is missing or on another engine
     * @throws IllegalStateException if this handle, an operand or an engine is closed
     */
    public void execute(Map<String, ? extends DeviceBuffer> arguments) {
        synchronized (using) {
            if (isClosed) {
                throw new IllegalStateException("The handle of " + primitive.descriptor().kind() + " is closed");
            }
            new Execution(primitive, engines, resources, scratchpad, 0, arguments).run();
        }
    }

    /** Frees the resources and the scratchpad, when an execution that is under way has ended. */
    @Override
    public void close() {
        StackRoom.require(); // it is freed once: not halfway
        synchronized (using) {
            if (!isClosed) {
                isClosed = true;
                Closing.all(List.of(scratchpad::close, resources::close));
            }
        }
    }
}
