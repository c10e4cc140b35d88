/** Compilers that are programs of their own: where they are installed, and their runs. */
@NullMarked
package dev.granary.gpu.tool;

import org.jspecify.annotations.NullMarked;
