/** Tests of the bucket tier. */
@NullMarked
package dev.granary.s3;

import org.jspecify.annotations.NullMarked;
