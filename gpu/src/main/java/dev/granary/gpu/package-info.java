/** Kernel descriptors, launches and engine interfaces that all back-ends share. */
@NullMarked
package dev.granary.gpu;

import org.jspecify.annotations.NullMarked;
