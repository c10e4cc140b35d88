/** Export of entries to a tree of plain files, and import. */
@NullMarked
package dev.granary.coordinator.transfer;

import org.jspecify.annotations.NullMarked;
