/** Benchmark of the local tier beside plain files. */
@NullMarked
package dev.granary.benchmarks.local;

import org.jspecify.annotations.NullMarked;
