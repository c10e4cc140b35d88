/**
 * Commands that operate tiers: {@code warm}, {@code compact}, {@code verify}, {@code quarantine},
 * {@code stats} and {@code doctor}.
 */
@NullMarked
package dev.granary.cli.operation;

import org.jspecify.annotations.NullMarked;
