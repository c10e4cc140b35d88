/** Compaction: planning, rewriting packs, adopting lost ones, and removing unneeded objects. */
@NullMarked
package dev.granary.s3.pack.compact;

import org.jspecify.annotations.NullMarked;
