/** The bucket tier: entries in an S3-compatible bucket that a fleet shares. */
@NullMarked
package dev.granary.s3;

import org.jspecify.annotations.NullMarked;
