package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionContext;
import dev.granary.gpu.composite.resource.Scratchpad;
import dev.granary.gpu.engine.Closer;

import java.util.Map;

/**
 * A composite primitive with the engines, resources and scratchpad to run it. The primitive is
 * shared; resources and scratchpad belong to this handle, and are released when it is closed. The
 * primitive stays cached and the engines stay open.
 *
 * <p>Thread-safe. Executions of one handle are serialized, since they share its scratchpad and
 * kernels; concurrent executions need separate handles.
 */
public final class CompositeHandle implements AutoCloseable {
    private final CompositePrimitive primitive;
    private final EngineSet engines;
    private final ResourceTable resources;
    private final Scratchpad scratchpad;
    // held during an execution; a monitor is released even after a stack overflow
    private final Object executionLock = new Object();
    private boolean isClosed; // guarded by executionLock

    private CompositeHandle(
            CompositePrimitive primitive,
            EngineSet engines,
            ResourceTable resources,
            Scratchpad scratchpad) {
        this.primitive = primitive;
        this.engines = engines;
        this.resources = resources;
        this.scratchpad = scratchpad;
    }

    /**
     * Opens a handle with the resources and scratchpad on these engines. If that fails, all of them
     * are released.
     */
    static CompositeHandle open(CompositePrimitive primitive, EngineSet engines)
            throws CompileException {
        ResourceTable resources = new ResourceTable();
        try {
            resources.createAll(primitive, engines);
            return withScratchpad(
                    primitive,
                    engines,
                    resources,
                    new Scratchpad(engines.main(), primitive.scratchpadBytes()));
        } catch (Throwable e) {
            Closer.closeAfter(e, resources::close);
            throw e;
        }
    }

    private static CompositeHandle withScratchpad(
            CompositePrimitive primitive,
            EngineSet engines,
            ResourceTable resources,
            Scratchpad scratchpad) {
        try {
            return new CompositeHandle(primitive, engines, resources, scratchpad);
        } catch (Throwable e) { // out of memory: no other owner of the scratchpad
            Closer.closeAfter(e, scratchpad::close);
            throw e;
        }
    }

    /** Returns the shared primitive. */
    public CompositePrimitive primitive() {
        return primitive;
    }

    /** Returns the engines that it runs on. */
    public EngineSet engines() {
        return engines;
    }

    /** Returns the number of resources: one for each distinct primitive, including nested ones. */
    public int resources() {
        return resources.count();
    }

    /**
     * Runs the primitive once and waits for its completion.
     *
     * @param arguments the operands by the names of the implementation, each on the expected
     *     engine; they remain the caller's
     * @throws IllegalArgumentException if an operand is missing or on another engine
     * @throws IllegalStateException if this handle, an operand or an engine is closed
     */
    public void execute(Map<String, ? extends DeviceBuffer> arguments) {
        synchronized (executionLock) {
            if (isClosed) {
                throw new IllegalStateException(
                        "The handle of " + primitive.descriptor().kind() + " is closed");
            }
            new ExecutionContext(primitive, engines, resources, scratchpad, 0, arguments).run();
        }
    }

    /** Releases the resources and the scratchpad, after a running execution has ended. */
    @Override
    public void close() {
        synchronized (executionLock) {
            if (!isClosed) {
                isClosed = true;
                try (Closer all = new Closer()) {
                    all.add(resources::close);
                    all.add(scratchpad::close);
                }
            }
        }
    }
}
