/** Commands on stored entries: {@code ls}, {@code inspect}, {@code evict} and {@code copy}. */
@NullMarked
package dev.granary.cli.entry;

import org.jspecify.annotations.NullMarked;
