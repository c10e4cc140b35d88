/**
 * The bucket tier: a {@link dev.granary.cache.PersistentCache} in an S3-compatible bucket that a fleet shares. Settings in
 * {@link dev.granary.s3.config.S3Config}, the tier in {@link dev.granary.s3.BucketTier}.
 */
@NullMarked
package dev.granary.s3;

import org.jspecify.annotations.NullMarked;
