/** Helpers that several modules share: a clock, daemon threads, values made on first use, messages logged once. */
@NullMarked
package dev.granary.cache.support;

import org.jspecify.annotations.NullMarked;
