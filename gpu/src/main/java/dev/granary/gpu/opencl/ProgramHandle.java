package dev.granary.gpu.opencl;

import java.util.List;

/**
 * A live {@code cl_program} of one engine with references counted here: released once, by whoever lets go last, or when the engine closes.
 */
final class ProgramHandle {
    private final OpenClEngine engine;
    private final List<String> kernels;
    private long program;
    private int references = 1;

    ProgramHandle(OpenClEngine engine, long program, List<String> kernels) {
        this.engine = engine;
        this.program = program;
        this.kernels = kernels;
        engine.live().add(this);
    }

    OpenClEngine engine() {
        return engine;
    }

    List<String> kernels() {
        return kernels;
    }

    /** Adds a reference; false if the program is gone already. */
    synchronized boolean retain() {
        if (program == 0) {
            return false;
        }
        references++;
        return true;
    }

    /** Gives a reference back. */
    void release() {
        long last;
        synchronized (this) {
            if (program == 0 || --references > 0) {
                return;
            }
            last = program;
            program = 0;
        }
        engine.live().remove(this);
        engine.binding().releaseProgram(last);
    }

    /** Releases the program whoever still holds it: the engine is closing. */
    void releaseNow() {
        long last;
        synchronized (this) {
            last = program;
            program = 0;
        }
        if (last != 0) {
            engine.binding().releaseProgram(last);
        }
    }

    /** The native handle; only between {@link #retain} and {@link #release}. */
    synchronized long program() {
        if (program == 0) {
            throw new IllegalStateException("The program is released: its engine is closed");
        }
        return program;
    }
}
