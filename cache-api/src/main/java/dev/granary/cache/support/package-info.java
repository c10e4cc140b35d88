/**
 * Utilities shared by several modules: a clock, daemon threads, lazily created values, messages
 * logged once.
 */
@NullMarked
package dev.granary.cache.support;

import org.jspecify.annotations.NullMarked;
