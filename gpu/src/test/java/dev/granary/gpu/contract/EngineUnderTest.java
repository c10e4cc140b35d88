package dev.granary.gpu.contract;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;

/**
 * A backend for the {@link KernelEngineContract}: its engines, its programs, and what its driver
 * was seen to do. A new object is made for each test.
 */
public interface EngineUnderTest {
    /** Returns the target of the engines. */
    Target target();

    /** Returns a new engine on one and the same device. */
    KernelEngine open();

    /**
     * Returns a program of three kernels over vectors of floats: {@code add(a, b, out)},
     * {@code scale(in, out, factor)} multiplied by {@code extra}, and {@code reverse(in, out,
     * local)}, which reverses each group.
     */
    KernelDescriptor.Builder vectors(int extra);

    /** Returns a program that does not compile, for a reason that its build log calls nope. */
    KernelDescriptor.Builder broken();

    /** Returns the number of programs that the driver has compiled from source so far. */
    long compiles();

    /** Returns the number of native objects that were created and not released. */
    long liveObjects();
}
