/** What all engines share: kernel descriptors and launch geometry. */
@NullMarked
package dev.granary.gpu;

import org.jspecify.annotations.NullMarked;
