package dev.granary.gpu;

import dev.granary.cache.Primitive;

/** A compiled program of kernels. {@link KernelEngine#load} creates its kernels. Thread-safe. */
public interface KernelProgram extends Primitive {
    @Override
    KernelDescriptor descriptor();
}
