package dev.granary.cache;

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
     * Creates a primitive by compiling its source.
     *
     * @throws CompileException if the source does not compile, with the build log
     */
    P create(D descriptor) throws CompileException;

    /**
     * Creates a primitive from binaries, without compiling it. The binaries must have been
     * verified, since a damaged binary can crash the driver.
     *
     * @throws RestoreException if the driver rejects the binaries, or if this kind or this
     *     descriptor has no binaries
     */
    P create(D descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException;

    /**
     * Releases the context. Primitives remain valid as values, but their resources of this engine
     * do not.
     */
    @Override
    void close();
}
