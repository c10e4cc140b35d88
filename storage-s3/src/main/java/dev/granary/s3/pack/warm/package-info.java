/** Bulk reading of packs, to fill a directory. */
@NullMarked
package dev.granary.s3.pack.warm;

import org.jspecify.annotations.NullMarked;
