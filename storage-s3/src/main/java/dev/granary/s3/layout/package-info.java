/** Keys of objects in a bucket. */
@NullMarked
package dev.granary.s3.layout;

import org.jspecify.annotations.NullMarked;
