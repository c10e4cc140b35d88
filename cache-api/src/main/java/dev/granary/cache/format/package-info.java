/**
 * The encoding of an {@link dev.granary.cache.Entry} as bytes and its verification on read.
 * {@code docs/entry-format.md} describes the layout byte by byte.
 */
@NullMarked
package dev.granary.cache.format;

import org.jspecify.annotations.NullMarked;
