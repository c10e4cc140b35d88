/** Benchmark of a restore against compiling and against the driver's own restore. */
@NullMarked
package dev.granary.benchmarks.restore;

import org.jspecify.annotations.NullMarked;
