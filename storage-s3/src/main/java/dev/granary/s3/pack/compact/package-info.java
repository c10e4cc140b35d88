/** Compaction: what goes into new packs, what may be removed, and the seal. */
@NullMarked
package dev.granary.s3.pack.compact;

import org.jspecify.annotations.NullMarked;
