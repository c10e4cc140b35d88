/** Tools that fill a directory from a bucket, compared by the bucket benchmark. */
@NullMarked
package dev.granary.benchmarks.bucket.warm;

import org.jspecify.annotations.NullMarked;
