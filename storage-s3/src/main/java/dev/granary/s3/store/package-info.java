/** Object stores: what Granary needs of an S3-compatible bucket, as a plug, and its outcomes as sealed types. */
@NullMarked
package dev.granary.s3.store;

import org.jspecify.annotations.NullMarked;
