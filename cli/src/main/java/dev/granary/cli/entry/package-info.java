/**
 * Commands on stored entries: {@code ls}, {@code inspect}, {@code diff}, {@code evict},
 * {@code clear}, {@code export} and {@code import}.
 */
@NullMarked
package dev.granary.cli.entry;

import org.jspecify.annotations.NullMarked;
