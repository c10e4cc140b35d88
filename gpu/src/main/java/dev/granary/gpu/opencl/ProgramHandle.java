package dev.granary.gpu.opencl;

import java.util.List;

/** A live {@code cl_program} of one engine with references counted here: released by whoever lets go last, or when the engine closes. */
final class ProgramHandle {
    private final NativeHandle program;
    private final List<String> kernels;
    private int references = 1; // guarded by this

    ProgramHandle(OpenClEngine engine, long program, List<String> kernels) {
        this.program = new NativeHandle(engine, "program", program, engine.binding()::releaseProgram);
        this.kernels = kernels;
    }

    OpenClEngine engine() {
        return program.engine();
    }

    List<String> kernels() {
        return kernels;
    }

    /** Adds a reference; false if the program is gone already. */
    synchronized boolean retain() {
        if (references == 0 || program.isReleased()) {
            return false;
        }
        references++;
        return true;
    }

    /** Gives a reference back. */
    void release() {
        synchronized (this) {
            if (--references > 0) {
                return;
            }
        }
        program.release();
    }

    /** True where the program is gone: all let go, or its engine is closed. */
    boolean isReleased() {
        return program.isReleased();
    }

    /** The native handle; only between {@link #retain} and {@link #release}, while the engine is in use. */
    long program() {
        return program.get();
    }
}
