package dev.granary.gpu.opencl;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.ref.Cleaner;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * The programs of one engine for primitives that outlive it, such as cached ones. It keeps their
 * native programs for the next load, and takes missing binaries before the engine closes.
 * References to primitives are weak. Thread-safe.
 */
final class EnginePrograms {
    private static final Logger LOG = LoggerFactory.getLogger(EnginePrograms.class);

    private final OpenClEngine engine;
    private final Set<OpenClPrimitive> registered =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private final Map<OpenClPrimitive, KeptProgram> keptPrograms =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** A program made from a primitive's binaries, without a reference to the primitive. */
    private record KeptProgram(ProgramHandle program, Cleaner.Cleanable release) {}

    EnginePrograms(OpenClEngine engine) {
        this.engine = engine;
    }

    /**
     * Registers a primitive whose binaries are taken when the engine closes. Requires an open
     * engine.
     */
    void register(OpenClPrimitive primitive) {
        registered.add(primitive);
    }

    /** Returns the program of an earlier load, retained, or null. */
    @Nullable
    ProgramHandle program(OpenClPrimitive primitive) {
        KeptProgram kept = keptPrograms.get(primitive);
        return kept != null && kept.program.retain() ? kept.program : null;
    }

    /** Keeps the program of a primitive that will be loaded again. Requires an open engine. */
    void keep(OpenClPrimitive primitive, ProgramHandle program) {
        if (primitive.outlivesEngine()
                && !keptPrograms.containsKey(primitive)
                && program.retain()) {
            KeptProgram previous = keptPrograms.put(
                    primitive, new KeptProgram(program, primitive.releaseWithThis(program)));
            if (previous != null) { // another thread was faster
                previous.release.clean();
            }
        }
    }

    /** Takes missing binaries and releases all programs, since the engine is closing. */
    void engineClosing() {
        // a copy, without the set's lock: taking binaries may be slow
        for (OpenClPrimitive primitive : List.copyOf(registered)) {
            try {
                primitive.engineClosing(engine);
            } catch (RuntimeException
                    | Error e) { // it will be compiled again; the engine must close all the same
                LOG.warn(
                        "{}: the binaries cannot be taken from the driver: {}",
                        primitive,
                        e.getMessage());
            }
        }
        // otherwise they would be retained as long as the primitives
        List.copyOf(keptPrograms.values()).forEach(kept -> kept.release.clean());
        keptPrograms.clear();
    }
}
