/** A simulated fleet that starts at once, with measured request times. */
@NullMarked
package dev.granary.benchmarks.bucket.fleet;

import org.jspecify.annotations.NullMarked;
