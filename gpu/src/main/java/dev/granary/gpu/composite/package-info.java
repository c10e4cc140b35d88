/**
 * Composite primitives: primitives of several kernels and nested primitives, created once per
 * process and run through handles.
 *
 * <p>A {@link dev.granary.gpu.composite.CompositeDescriptor} is the cache key, and a
 * {@link dev.granary.gpu.composite.CompositePrimitive} the cached value: immutable, without state
 * of a context. A {@link dev.granary.gpu.composite.CompositeHandle} runs a primitive, and owns its
 * resources and scratchpad. New operations implement
 * {@link dev.granary.gpu.composite.CompositeImplementation}.
 */
@NullMarked
package dev.granary.gpu.composite;

import org.jspecify.annotations.NullMarked;
