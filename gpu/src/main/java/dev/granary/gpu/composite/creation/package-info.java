/**
 * The creation of composite primitives: parallel calls, detection of cycles, and the encoding of
 * descriptors in keys.
 */
@NullMarked
package dev.granary.gpu.composite.creation;

import org.jspecify.annotations.NullMarked;
