package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.build.StackReserve;
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
public final class CompositeHandle implements AutoCloseable {
    private final CompositePrimitive primitive;
    private final EngineSet engines;
    private final ResourceTable resources;
    private final Scratchpad scratchpad;
    private final Object using = new Object(); // held while it runs; a monitor is let go whatever overflows
    private boolean isClosed; // guarded by using

    private CompositeHandle(CompositePrimitive primitive, EngineSet engines, ResourceTable resources, Scratchpad scratchpad) {
        this.primitive = primitive;
        this.engines = engines;
        this.resources = resources;
        this.scratchpad = scratchpad;
    }

    /** Makes all that the primitive needs on these engines; what fails leaves nothing behind. */
    static CompositeHandle open(CompositePrimitive primitive, EngineSet engines) throws CompileException {
        StackReserve.require();
        ResourceTable resources = new ResourceTable();
        try {
            resources.make(primitive, engines);
            return withScratchpad(primitive, engines, resources, new Scratchpad(engines.main(), primitive.scratchpadBytes()));
        } catch (Throwable e) {
            Closer.after(e, resources::close);
            throw e;
        }
    }

    private static CompositeHandle withScratchpad(
            CompositePrimitive primitive, EngineSet engines, ResourceTable resources, Scratchpad scratchpad) {
        try {
            return new CompositeHandle(primitive, engines, resources, scratchpad);
        } catch (Throwable e) { // no memory: nobody has the scratchpad
            Closer.after(e, scratchpad::close);
            throw e;
        }
    }

    /** What is run; shared with others. */
    public CompositePrimitive primitive() {
        return primitive;
    }

    /** The engines that it runs on. */
    public EngineSet engines() {
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
            new ExecutionContext(primitive, engines, resources, scratchpad, 0, arguments).run();
        }
    }

    /** Frees the resources and the scratchpad, when an execution that is under way has ended. */
    @Override
    public void close() {
        StackReserve.require(); // it is freed once: not halfway
        synchronized (using) {
            if (!isClosed) {
                isClosed = true;
                Closer.all(List.of(scratchpad::close, resources::close));
            }
        }
    }
}
