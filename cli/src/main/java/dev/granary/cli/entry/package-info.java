/**
 * Entries, the places that have them, and the commands on both: {@code ls}, {@code inspect},
 * {@code stats}, {@code report}, {@code warm}, {@code copy}, {@code verify}, {@code evict},
 * {@code compact}, {@code collect}, {@code quarantine} and {@code keys}; {@code devices} and
 * {@code doctor} examine what these need.
 */
@NullMarked
package dev.granary.cli.entry;

import org.jspecify.annotations.NullMarked;
