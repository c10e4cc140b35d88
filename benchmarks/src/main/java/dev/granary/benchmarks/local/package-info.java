/**
 * Measures the local tier against what else may carry it, and against reading files without any
 * check.
 */
@NullMarked
package dev.granary.benchmarks.local;

import org.jspecify.annotations.NullMarked;
