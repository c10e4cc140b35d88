/** The stores that the local benchmark compares, behind one interface. */
@NullMarked
package dev.granary.benchmarks.local.store;

import org.jspecify.annotations.NullMarked;
