package dev.granary.gpu.opencl;

import java.lang.ref.Cleaner;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one engine does for primitives that outlive it, as those in a cache: it keeps the live programs that were made for them, for the next
 * load, and takes the binaries of those that were compiled in it before it closes. It keeps no primitive in memory. Thread-safe.
 */
final class EnginePrograms {
    private static final Logger LOG = LoggerFactory.getLogger(EnginePrograms.class);

    private final OpenClEngine engine;
    private final Set<OpenClPrimitive> compiledHere = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private final Map<OpenClPrimitive, Made> made = Collections.synchronizedMap(new WeakHashMap<>());

    /** A program made from the binaries of a primitive; it knows nothing of the primitive, which may go at any time. */
    private record Made(ProgramHandle program, Cleaner.Cleanable release) {}

    EnginePrograms(OpenClEngine engine) {
        this.engine = engine;
    }

    /** Will take the binaries of {@code primitive}, if it is still there then. Only while the engine is open. */
    void add(OpenClPrimitive primitive) {
        compiledHere.add(primitive);
    }

    /** The program that an earlier load made, retained; null where there is none. */
    @Nullable ProgramHandle program(OpenClPrimitive primitive) {
        Made known = made.get(primitive);
        return known != null && known.program.retain() ? known.program : null;
    }

    /** Keeps a program of a primitive that will be loaded again. Only while the engine is open. */
    void keep(OpenClPrimitive primitive, ProgramHandle program) {
        if (primitive.isKept() && !made.containsKey(primitive) && program.retain()) {
            Made replaced = made.put(primitive, new Made(program, primitive.releaseWithThis(program)));
            if (replaced != null) { // another thread was faster
                replaced.release.clean();
            }
        }
    }

    /** The engine is closing: takes the binaries that were not taken yet, and lets go of all programs. */
    void leave() {
        for (OpenClPrimitive primitive : List.copyOf(compiledHere)) { // without its lock: taking binaries may last
            try {
                primitive.leaveEngine(engine);
            } catch (RuntimeException | Error e) { // it will be compiled once more; the engine must close all the same
                LOG.warn("{}: its binaries cannot be taken: {}", primitive, e.getMessage());
            }
        }
        List.copyOf(made.values()).forEach(one -> one.release.clean()); // else what they hold would stay as long as the primitives
        made.clear();
    }
}
