/** Tests of the benchmark of the caches in memory. */
@NullMarked
package dev.granary.it.bench.memory;

import org.jspecify.annotations.NullMarked;
