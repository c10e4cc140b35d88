package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;

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
    KernelProgram kernel(KernelEngine engine, KernelDescriptor descriptor) throws CompileException;
}
