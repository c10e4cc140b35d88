package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;

/** Source of the parts of one primitive during its creation. Thread-safe. */
interface PartProvider {
    /**
     * Returns the program of that descriptor.
     *
     * @throws CompileException if it does not compile
     * @throws IllegalArgumentException if none of the primitive's engines has its target
     */
    KernelProgram kernel(KernelDescriptor kernel) throws CompileException;

    /**
     * Returns the nested primitive of that descriptor.
     *
     * @throws CompileException if one of its kernels does not compile
     * @throws IllegalArgumentException if none of the primitive's engines has its target
     */
    CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException;
}
