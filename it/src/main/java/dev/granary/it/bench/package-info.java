/** What several benchmarks need. */
@NullMarked
package dev.granary.it.bench;

import org.jspecify.annotations.NullMarked;
