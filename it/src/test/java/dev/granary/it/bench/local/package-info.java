/** Tests of the benchmark of the local tier. */
@NullMarked
package dev.granary.it.bench.local;

import org.jspecify.annotations.NullMarked;
