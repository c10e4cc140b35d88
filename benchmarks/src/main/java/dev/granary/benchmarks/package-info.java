/** What several benchmarks need. */
@NullMarked
package dev.granary.benchmarks;

import org.jspecify.annotations.NullMarked;
