/** Tests of the benchmark of the bucket tier. */
@NullMarked
package dev.granary.it.bench.bucket;

import org.jspecify.annotations.NullMarked;
