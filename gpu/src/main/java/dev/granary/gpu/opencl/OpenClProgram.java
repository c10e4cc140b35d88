package dev.granary.gpu.opencl;

import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.EngineProgram;
import dev.granary.gpu.engine.NativeHandle;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A {@code cl_program} of a primitive, for an application with launch code of its own. Obtained
 * from {@link OpenClEngine#program}. Thread-safe.
 *
 * <p>Several programs of one primitive and engine share a {@code cl_program}.
 */
public final class OpenClProgram implements AutoCloseable {
    private final OpenClEngine engine;
    private final EngineProgram primitive;
    private final NativeHandle program;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    /** Takes over the caller's reference to the program. */
    OpenClProgram(OpenClEngine engine, EngineProgram primitive, NativeHandle program) {
        this.engine = engine;
        this.primitive = primitive;
        this.program = program;
    }

    /**
     * Returns the {@code cl_program}, valid until this program or the engine is closed. The caller
     * must not release it. Kernels made of it stay valid until they are released.
     *
     * @throws IllegalStateException if this program or the engine is closed
     */
    public long handle() {
        try (var _ = engine.lease()) {
            checkOpen();
            return program.get();
        }
    }

    /**
     * Returns the {@code cl_program} with a reference of the caller's, which stays valid after this
     * program, the engine and the cache are closed. The caller must release it by
     * {@code clReleaseProgram}, once for each call.
     *
     * @throws IllegalStateException if this program or the engine is closed
     */
    public long retainHandle() {
        try (var _ = engine.lease();
                Closer held = new Closer()) {
            checkOpen();
            if (program.retain()) { // another thread may close this
                held.add(program::release);
            }
            engine.binding().programs().retainProgram(program.get());
            return program.get();
        }
    }

    private void checkOpen() {
        if (isClosed.get()) {
            throw new IllegalStateException("The program is closed");
        }
    }

    /** Returns the names of the requested kernels. */
    public List<String> kernels() {
        return primitive.kernels();
    }

    /**
     * Records that the application has launched what the cache is to keep, and that the launches
     * have ended. PoCL compiles at launches, so binaries taken now contain their code; without this
     * call they are taken when the cache is flushed or the engine closes. Other drivers need no
     * call.
     */
    public void launched() {
        primitive.launchedUnseen();
    }

    /** Returns the program to the engine; later calls have no effect. */
    @Override
    public void close() {
        if (!isClosed.getAndSet(true)) {
            program.release();
        }
    }
}
