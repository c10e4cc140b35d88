/** Composite primitives on real OpenCL objects; the operations here are examples for implementers too. */
@NullMarked
package dev.granary.gpu.composite;

import org.jspecify.annotations.NullMarked;
