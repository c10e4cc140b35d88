package dev.granary.cache;

import java.time.Duration;
import java.util.List;

/**
 * A compiled program, or several that make one operation, shared between threads and callers. It is
 * immutable as seen from outside. Resources of one context, such as a live kernel, are created from
 * it by the engine.
 */
public interface Primitive {
    /** The origin of a primitive. */
    enum Origin {
        /** Compiled from source. */
        COMPILED,
        /** Restored from binaries, without the compiler. */
        RESTORED,
        /**
         * Restored from binaries that the driver accepted but compiled again: a degraded hit, to be
         * published again.
         */
        RECOMPILED
    }

    /** Returns the descriptor of this primitive. */
    PrimitiveDescriptor descriptor();

    /** Returns the origin of this primitive. */
    Origin origin();

    /**
     * Returns the binaries of this kind, or none if this primitive does not support the kind or its
     * id is empty. The first call may take as long as a compile.
     */
    KernelBinaries getBinaries(BinaryKind kind);

    /**
     * Returns the compile time so far: the build, and compiles that reading the binaries caused.
     * Zero if nothing was compiled.
     */
    Duration compileTime();

    /** Returns the names of the kernels; by default one, with the name of the descriptor. */
    default List<String> kernels() {
        return List.of(descriptor().name());
    }

    /**
     * Returns the launch geometries that the binaries cover; none, the default, if the driver
     * compiles nothing at launch.
     */
    default List<String> geometries() {
        return List.of();
    }

    /**
     * Runs {@code action} once when the binaries are complete. This is at once if the driver has
     * compiled everything, otherwise after the first launch of the descriptor's geometry. The
     * action runs on the thread that completes them and must be short.
     */
    default void onBinariesComplete(Runnable action) {
        action.run();
    }

    /**
     * Announces that this primitive may be loaded into engines opened after its own engine is
     * closed, as in a cache. Its engine then reads the binaries before it closes, unless they were
     * read already. Has no effect if the binaries are available from the start.
     */
    default void outliveEngine() {}

    /**
     * Runs {@code action} each time this primitive is compiled again, because an engine cannot use
     * its binaries or there are none. The action runs on the loading thread and must be short.
     */
    default void onCompiledAgain(Runnable action) {}
}
