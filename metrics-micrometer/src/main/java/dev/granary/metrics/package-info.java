/** Metrics of Granary for Micrometer. */
@NullMarked
package dev.granary.metrics;

import org.jspecify.annotations.NullMarked;
