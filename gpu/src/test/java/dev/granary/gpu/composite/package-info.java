/**
 * Tests of composite primitives on real OpenCL objects; their operations are also examples for
 * implementers.
 */
@NullMarked
package dev.granary.gpu.composite;

import org.jspecify.annotations.NullMarked;
