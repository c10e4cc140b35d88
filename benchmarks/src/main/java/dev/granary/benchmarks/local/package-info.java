/** Benchmark of the local tier against other stores, and against unverified reads of files. */
@NullMarked
package dev.granary.benchmarks.local;

import org.jspecify.annotations.NullMarked;
