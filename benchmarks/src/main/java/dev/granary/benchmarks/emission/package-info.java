/** Benchmark of the time that a kernel plan takes to become a kernel in OpenCL C. */
@NullMarked
package dev.granary.benchmarks.emission;

import org.jspecify.annotations.NullMarked;
