/**
 * The resources of handles of composite primitives: loaded kernels, constant memory and
 * scratchpads, and the closing of everything that a handle owns.
 */
@NullMarked
package dev.granary.gpu.composite.resource;

import org.jspecify.annotations.NullMarked;
