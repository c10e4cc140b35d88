/**
 * The constant tensor cache: what was computed once from constants (packed weights, folded scales) and is used by many primitives, within a
 * budget for each device. Without native code: what a tensor is made of is the back-end's.
 */
@NullMarked
package dev.granary.cache.constant;

import org.jspecify.annotations.NullMarked;
