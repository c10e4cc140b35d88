/**
 * Primitives of several kernels and of nested primitives: described, created once per process, and run through handles.
 *
 * <p>A {@link dev.granary.gpu.primitive.CompositeDescriptor} is the key, a {@link dev.granary.gpu.primitive.CompositePrimitive} what is cached
 * for it: immutable, without anything of a context. A {@link dev.granary.gpu.primitive.PrimitiveHandle} is what a caller runs: it owns what
 * belongs to contexts, the resources and the scratchpad. Who adds an operation writes an
 * {@link dev.granary.gpu.primitive.Implementation}.
 */
@NullMarked
package dev.granary.gpu.primitive;

import org.jspecify.annotations.NullMarked;
