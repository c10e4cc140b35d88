package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;

/** Where composite primitives get their kernels: a cache of programs, or the compiler itself ({@code KernelEngine::create}). Thread-safe. */
@FunctionalInterface
public interface KernelProvider {
    /**
     * The program of kernels, created or found.
     *
     * @throws CompileException if it does not compile
     */
    <P extends Primitive> P kernel(KernelEngine<P> engine, KernelDescriptor descriptor) throws CompileException;
}
