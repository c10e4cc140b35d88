/** Fuzzing of parsers: mutated inputs, with checksums repaired, against documented results and bounded memory. */
@NullMarked
package dev.granary.cache.fuzz;

import org.jspecify.annotations.NullMarked;
