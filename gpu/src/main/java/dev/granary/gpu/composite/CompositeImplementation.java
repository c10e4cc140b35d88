package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;

/**
 * A way to carry out operations of one kind. Stateless and thread-safe; part of the key by its equality, so an enum constant, a record or a
 * constant: what is made anew for each descriptor is never found again.
 *
 * @param <O> the operations
 */
public interface CompositeImplementation<O extends Record> {
    /**
     * Obtains the kernels and the nested primitives, says what scratchpad and what constant memory an execution needs, and returns the steps of
     * one. The result must depend on {@code descriptor} alone: it is shared by all who have an equal one, whatever engines they have.
     *
     * @throws CompileException if a kernel does not compile
     */
    ExecutionBody create(CompositeDescriptor<O> descriptor, CreationContext creation) throws CompileException;
}
