package dev.granary.cache;

import java.time.Duration;
import java.util.List;

/**
 * The compiled thing: immutable as seen from outside, shared between threads and callers. What belongs to one context (a live kernel) is a
 * resource that the engine makes from it.
 */
public interface Primitive {
    /** Where a primitive came from. */
    enum Origin {
        /** From source. */
        COMPILED,
        /** From binaries; the compiler did not run. */
        RESTORED,
        /** From binaries that the driver accepted and then compiled anew: a degraded hit, to be published again. */
        RECOMPILED
    }

    /** What was compiled. */
    PrimitiveDescriptor descriptor();

    /** Where this primitive came from. */
    Origin origin();

    /**
     * The binaries of that kind; none where this primitive does not support the kind or its id is empty. The first call may take as long
     * as compiling.
     */
    KernelBinaries getBinaries(BinaryKind kind);

    /**
     * What compiling has cost so far: the build, and what taking the binaries made the driver compile. Zero where nothing was compiled.
     */
    Duration compileTime();

    /** The names of the kernels. */
    List<String> kernels();

    /** The launch geometries that the binaries cover; none where the driver compiles nothing at launch. */
    List<String> geometries();

    /**
     * Runs {@code action} once, when the binaries are worth taking: at once where the driver has compiled everything, else after the first
     * launch of the descriptor's geometry. The action runs on the thread that brought the moment about and must be short.
     */
    void onBinariesComplete(Runnable action);

    /**
     * Says that this primitive will be loaded into engines that open after its own has closed, as one that a cache holds: its engine then takes
     * the binaries before it closes, unless they were taken already. Nothing to do where the binaries are there from the start.
     */
    default void outliveEngine() {}

    /**
     * Runs {@code action} each time that this primitive is compiled once more, since an engine that it is loaded into can do nothing with its
     * binaries or there are none. The action runs on the thread that loads and must be short.
     */
    default void onCompiledAgain(Runnable action) {}
}
