/**
 * Loop nests: arrays, an iteration space with one statement, and the schedule of its loops.
 *
 * <p>All types are immutable values, compared by value, and thread-safe. An invalid value causes an
 * {@link java.lang.IllegalArgumentException} that says what to change.
 */
@NullMarked
package dev.granary.plans.nest;

import org.jspecify.annotations.NullMarked;
