package dev.granary.gpu.opencl;

import dev.granary.gpu.lifetime.NativeHandle;

import java.util.List;

/**
 * A reference-counted {@code cl_program} of one engine, released with the last reference or when
 * the engine closes.
 */
final class ProgramHandle {
    private final OpenClEngine engine;
    private final NativeHandle program;
    private final List<String> kernels;
    private int references = 1; // guarded by this

    ProgramHandle(OpenClEngine engine, long program, List<String> kernels) {
        this.engine = engine;
        this.program = new NativeHandle(
                engine.lifetime(), "program", program, engine.binding().programs()::releaseProgram);
        this.kernels = kernels;
    }

    OpenClEngine engine() {
        return engine;
    }

    List<String> kernels() {
        return kernels;
    }

    /** Adds a reference; returns false if the program was released. */
    synchronized boolean retain() {
        if (references == 0 || program.isReleased()) {
            return false;
        }
        references++;
        return true;
    }

    /** Removes a reference. */
    void release() {
        synchronized (this) {
            if (--references > 0) {
                return;
            }
        }
        program.release();
    }

    /** Returns true if the program was released, with its last reference or its engine. */
    boolean isReleased() {
        return program.isReleased();
    }

    /**
     * Returns the native handle. Requires an engine lease, and a reference from {@link #retain}.
     */
    long program() {
        return program.get();
    }
}
