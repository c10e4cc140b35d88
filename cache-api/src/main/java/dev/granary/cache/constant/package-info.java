/**
 * The cache of constant tensors: results computed once from constants (packed weights, folded
 * scales) and used by many primitives, within a memory budget per device.
 *
 * <p>It contains no native code; the back-end defines the representation of a tensor.
 */
@NullMarked
package dev.granary.cache.constant;

import org.jspecify.annotations.NullMarked;
