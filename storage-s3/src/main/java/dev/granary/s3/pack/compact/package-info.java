/** Compaction: planning, rewriting packs, removing unneeded objects, and sealing. */
@NullMarked
package dev.granary.s3.pack.compact;

import org.jspecify.annotations.NullMarked;
