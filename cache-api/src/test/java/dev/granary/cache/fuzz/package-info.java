/**
 * Fuzzing of parsers: mutated inputs with repaired checksums, checked for documented results and
 * bounded memory.
 */
@NullMarked
package dev.granary.cache.fuzz;

import org.jspecify.annotations.NullMarked;
