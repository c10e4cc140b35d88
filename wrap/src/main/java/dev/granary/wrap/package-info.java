/**
 * Programs that keep compiled kernels in a directory of their own: its files are fetched before the
 * program starts, and what it adds is published.
 */
@NullMarked
package dev.granary.wrap;

import org.jspecify.annotations.NullMarked;
