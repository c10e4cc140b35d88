/** Tests of packs. */
@NullMarked
package dev.granary.s3.pack;

import org.jspecify.annotations.NullMarked;
