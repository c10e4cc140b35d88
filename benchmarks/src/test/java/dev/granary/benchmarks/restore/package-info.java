/** Tests of the benchmark of restores. */
@NullMarked
package dev.granary.benchmarks.restore;

import org.jspecify.annotations.NullMarked;
