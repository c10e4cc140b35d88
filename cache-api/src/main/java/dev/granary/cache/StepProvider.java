package dev.granary.cache;

/**
 * Source of the primitives of earlier steps of a compile, such as the intermediate program of a
 * front end: a cache, or the engines of these steps themselves. Used by the thread of the compile.
 */
public interface StepProvider {
    /**
     * Returns the primitive of an earlier step, cached or new.
     *
     * @param engine the engine of that step
     * @throws CompileException if no tier has it and it does not compile
     */
    <D extends PrimitiveDescriptor, P extends Primitive> P lookup(Engine<D, P> engine, D descriptor)
            throws CompileException;

    /**
     * Reports that the next step refused a primitive of {@link #lookup}, and accepted another one,
     * which was compiled in its place. A cache replaces the entry.
     *
     * @param refused a restored primitive
     * @param compiled a primitive of the same descriptor
     */
    void replaced(Primitive refused, Primitive compiled);
}
