package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;

/**
 * An implementation of the operations of one kind. Stateless and thread-safe.
 *
 * <p>The implementation is part of the key by its equality, so it should be an enum constant, a
 * record or a constant. A new object without value equality per descriptor would never hit the
 * cache.
 *
 * @param <O> the operations
 */
public interface CompositeImplementation<O extends Record> {
    /**
     * Obtains the kernels and nested primitives, declares scratchpad and constant memory, and
     * returns the body of an execution. The result must depend on {@code descriptor} alone, since
     * all engines with an equal descriptor share it.
     *
     * @throws CompileException if a kernel does not compile
     */
    ExecutionBody create(CompositeDescriptor<O> descriptor, CreationContext creation)
            throws CompileException;
}
