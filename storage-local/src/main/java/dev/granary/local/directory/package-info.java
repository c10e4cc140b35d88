/** Checks that a directory is safe to use, and access to files that interrupts do not end. */
@NullMarked
package dev.granary.local.directory;

import org.jspecify.annotations.NullMarked;
