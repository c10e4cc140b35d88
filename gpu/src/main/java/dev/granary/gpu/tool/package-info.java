/**
 * Compilers that are programs of their own: where they are installed, their runs, and the files
 * that they read.
 */
@NullMarked
package dev.granary.gpu.tool;

import org.jspecify.annotations.NullMarked;
