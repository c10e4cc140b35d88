/** Tests of the benchmark of the bucket tier. */
@NullMarked
package dev.granary.benchmarks.bucket;

import org.jspecify.annotations.NullMarked;
