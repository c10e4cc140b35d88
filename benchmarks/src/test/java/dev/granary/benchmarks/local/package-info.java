/** Tests of the benchmark of the local tier. */
@NullMarked
package dev.granary.benchmarks.local;

import org.jspecify.annotations.NullMarked;
