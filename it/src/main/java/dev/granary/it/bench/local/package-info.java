/** Measures what may carry the local tier: files, LMDB, and reading without any check. */
@NullMarked
package dev.granary.it.bench.local;

import org.jspecify.annotations.NullMarked;
