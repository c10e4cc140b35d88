/**
 * The entry format: how an {@link dev.granary.cache.Entry} becomes bytes and is verified when it is read back. {@code docs/entry-format.md} has
 * the layout byte by byte.
 */
@NullMarked
package dev.granary.cache.format;

import org.jspecify.annotations.NullMarked;
