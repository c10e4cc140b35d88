/** Memory of handles of composite primitives, and the closing of what a handle owns. */
@NullMarked
package dev.granary.gpu.composite.resource;

import org.jspecify.annotations.NullMarked;
