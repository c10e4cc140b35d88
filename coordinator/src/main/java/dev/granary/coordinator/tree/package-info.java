/** Entries as a plain tree of files, for people and other tools: written by {@code export}, read by {@code import}. */
@NullMarked
package dev.granary.coordinator.tree;

import org.jspecify.annotations.NullMarked;
