/** Keys of objects: those of a bucket, and those of one target. */
@NullMarked
package dev.granary.s3.layout;

import org.jspecify.annotations.NullMarked;
