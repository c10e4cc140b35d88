package dev.granary.cache;

import java.util.List;

/**
 * A device with its driver and context, of one backend. An engine creates primitives and is
 * thread-safe.
 *
 * @param <D> the supported descriptors
 * @param <P> the primitives that this engine creates
 */
public interface Engine<D extends PrimitiveDescriptor, P extends Primitive> extends AutoCloseable {
    /** Returns the target of this engine's binaries. */
    Target target();

    /**
     * Returns the other targets whose entries this engine can restore, in the order of lookups;
     * none by default. A lookup uses only those that {@link Backend#reads} permits.
     */
    default List<Target> readableTargets() {
        return List.of();
    }

    /**
     * Checks that a descriptor is for this engine. {@code Granary} calls it in each lookup.
     *
     * @throws IllegalArgumentException if the descriptor or its id is for another target, with both
     */
    default void requireTarget(PrimitiveDescriptor descriptor) {
        Id id = descriptor.getId();
        boolean isOfId = descriptor.target().equals(target()) && !id.isEmpty();
        Target actual = isOfId ? id.target() : descriptor.target();
        if (!actual.equals(target())) {
            throw new IllegalArgumentException("The descriptor " + descriptor.name() + " is for "
                    + actual.path() + ", but the engine is of " + target().path()
                    + ": build the descriptor and its id with engine.target()");
        }
    }

    /**
     * Creates a primitive by compiling its source.
     *
     * @throws CompileException if the source does not compile, with the build log
     */
    P create(D descriptor) throws CompileException;

    /**
     * Creates a primitive by compiling its source. An engine that compiles in several steps obtains
     * the results of the earlier ones from {@code steps}; by default there is one step.
     *
     * @param steps the source of the primitives of earlier steps
     * @throws CompileException if the source does not compile, with the build log
     */
    default P create(D descriptor, StepProvider steps) throws CompileException {
        return create(descriptor);
    }

    /**
     * Creates a primitive from binaries, without compiling it. The binaries must have been
     * verified, since a damaged binary can crash the driver.
     *
     * @throws RestoreException if the driver rejects the binaries, or if this kind or this
     *     descriptor has no binaries
     */
    P create(D descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException;

    /**
     * Creates a primitive from binaries of another target, without compiling it. They must have
     * been verified. The binaries of the primitive are those of this engine's target, as its driver
     * returns them; none if it returns none.
     *
     * @param source one of the {@link #readableTargets()}
     * @throws RestoreException if the driver rejects the binaries, or if this engine does not read
     *     those of {@code source}
     */
    default P create(D descriptor, KernelBinaries binaries, Target source) throws RestoreException {
        throw new RestoreException("this engine does not read binaries of " + source.path());
    }

    /**
     * Releases the context. Primitives remain valid as values, but their resources of this engine
     * do not.
     */
    @Override
    void close();

    /**
     * Source of the primitives of earlier steps of a compile, such as the intermediate program of a
     * front end: a cache, or the engines of these steps themselves. Used by the thread of the
     * compile.
     */
    public interface StepProvider {
        /**
         * Returns the primitive of an earlier step, cached or new.
         *
         * @param engine the engine of that step
         * @throws CompileException if no tier has it and it does not compile
         */
        <D extends PrimitiveDescriptor, P extends Primitive> P lookup(
                Engine<D, P> engine, D descriptor) throws CompileException;

        /**
         * Reports that the next step refused a primitive of {@link #lookup}, and accepted another
         * one, which was compiled in its place. A cache replaces the entry.
         *
         * @param refused a restored primitive
         * @param compiled a primitive of the same descriptor
         */
        void replaced(Primitive refused, Primitive compiled);
    }
}
