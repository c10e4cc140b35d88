/** Checks of a directory: owner, permissions, file-system type; and the start of the machine in which it is used. */
@NullMarked
package dev.granary.local.directory;

import org.jspecify.annotations.NullMarked;
