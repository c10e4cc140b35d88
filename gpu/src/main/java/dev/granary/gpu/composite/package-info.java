/**
 * Primitives of several kernels and of nested primitives: described, created once per process, and run through handles.
 *
 * <p>A {@link dev.granary.gpu.composite.CompositeDescriptor} is the key, a {@link dev.granary.gpu.composite.CompositePrimitive} what is cached
 * for it: immutable, without anything of a context. A {@link dev.granary.gpu.composite.CompositeHandle} is what a caller runs: it owns what
 * belongs to contexts, the resources and the scratchpad. Who adds an operation writes an
 * {@link dev.granary.gpu.composite.CompositeImplementation}.
 */
@NullMarked
package dev.granary.gpu.composite;

import org.jspecify.annotations.NullMarked;
