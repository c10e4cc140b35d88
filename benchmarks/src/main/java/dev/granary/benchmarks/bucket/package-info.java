/** Benchmark of the bucket tier against the tools and clients that move the same bytes. */
@NullMarked
package dev.granary.benchmarks.bucket;

import org.jspecify.annotations.NullMarked;
