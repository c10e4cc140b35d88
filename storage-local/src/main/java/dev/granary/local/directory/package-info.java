/** Checks of a directory: owner, permissions and file-system type; and the boot of the machine. */
@NullMarked
package dev.granary.local.directory;

import org.jspecify.annotations.NullMarked;
