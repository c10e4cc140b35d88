package dev.granary.cache;

/**
 * A device with its driver and context, of one backend; creates primitives. Thread-safe.
 *
 * @param <D> the descriptors it understands
 * @param <P> the primitives it creates
 */
public interface Engine<D extends PrimitiveDescriptor, P extends Primitive> extends AutoCloseable {
    /** What binaries of this engine fit. */
    Target target();

    /**
     * Creates a primitive from scratch: compiles.
     *
     * @throws CompileException if the source does not compile, with the build log
     */
    P create(D descriptor) throws CompileException;

    /**
     * Creates a primitive from binaries: never compiles by itself. The binaries must have been verified: drivers die on damaged ones.
     *
     * @throws RestoreException if the driver refuses them, or if this kind or this descriptor has no binaries
     */
    P create(D descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException;

    /** Releases the context. Primitives stay valid as values; their resources of this engine do not. */
    @Override
    void close();
}
