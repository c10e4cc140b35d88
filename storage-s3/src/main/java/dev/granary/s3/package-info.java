/**
 * The bucket tier: a {@link dev.granary.cache.PersistentCache} in an S3 bucket that a fleet shares.
 * {@link dev.granary.s3.config.S3Config} has the settings, {@link dev.granary.s3.BucketTier} is the
 * tier.
 */
@NullMarked
package dev.granary.s3;

import org.jspecify.annotations.NullMarked;
