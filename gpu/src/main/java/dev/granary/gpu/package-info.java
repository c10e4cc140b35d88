/** What all engines share: what is compiled, and how it is launched. */
@NullMarked
package dev.granary.gpu;

import org.jspecify.annotations.NullMarked;
