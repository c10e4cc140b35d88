/** Benchmarks of the caches in memory. */
@NullMarked
package dev.granary.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
