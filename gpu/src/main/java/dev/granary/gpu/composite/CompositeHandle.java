package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionContext;

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
    private final HandleResources resources;
    // held during an execution; a monitor is released even after a stack overflow
    private final Object executionLock = new Object();
    private boolean isClosed; // guarded by executionLock

    /**
     * Opens a handle with the resources and scratchpad on these engines. If that fails, all of them
     * are released.
     */
    CompositeHandle(CompositePrimitive primitive, EngineSet engines) throws CompileException {
        this.primitive = primitive;
        this.engines = engines;
        this.resources = HandleResources.create(primitive, engines);
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
            new ExecutionContext(primitive, engines, resources, 0, arguments).run();
        }
    }

    /** Releases the resources and the scratchpad, after a running execution has ended. */
    @Override
    public void close() {
        synchronized (executionLock) {
            if (!isClosed) {
                isClosed = true;
                resources.close();
            }
        }
    }
}
