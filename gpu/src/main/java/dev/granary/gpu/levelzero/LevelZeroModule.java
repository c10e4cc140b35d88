package dev.granary.gpu.levelzero;

import dev.granary.gpu.engine.EngineProgram;
import dev.granary.gpu.engine.NativeHandle;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A {@code ze_module} of a primitive, for an application with launch code of its own. Obtained from
 * {@link LevelZeroEngine#module}. Thread-safe.
 *
 * <p>Modules have no count of references, so a module is destroyed with its last user here. The
 * application must destroy its kernels of the module, and end their launches, before it closes this
 * object or the engine.
 */
public final class LevelZeroModule implements AutoCloseable {
    private final ZeContext context;
    private final EngineProgram program;
    private final NativeHandle module;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    /** Takes over the caller's reference to the module. */
    LevelZeroModule(ZeContext context, EngineProgram program, NativeHandle module) {
        this.context = context;
        this.program = program;
        this.module = module;
    }

    /**
     * Returns the {@code ze_module_handle_t}, valid until this module or the engine is closed.
     *
     * @throws IllegalStateException if this module or the engine is closed
     */
    public long handle() {
        try (var _ = context.lease()) {
            if (isClosed.get()) {
                throw new IllegalStateException("The module is closed");
            }
            return module.get();
        }
    }

    /** Returns the names of the requested kernels. */
    public List<String> kernels() {
        return program.kernels();
    }

    /** Returns the module to the engine; later calls have no effect. */
    @Override
    public void close() {
        if (!isClosed.getAndSet(true)) {
            module.release();
        }
    }
}
