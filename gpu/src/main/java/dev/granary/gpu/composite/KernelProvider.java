package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;

/**
 * Source of the kernels of composite primitives: a cache of programs, or the compiler itself
 * ({@code KernelEngine::create}). Thread-safe.
 */
@FunctionalInterface
public interface KernelProvider {
    /**
     * Returns the program of kernels, cached or new.
     *
     * @throws CompileException if it does not compile
     */
    <P extends Primitive> P kernel(KernelEngine<P> engine, KernelDescriptor descriptor)
            throws CompileException;
}
