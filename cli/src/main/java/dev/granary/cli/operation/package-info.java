/**
 * Commands that operate tiers, {@code warm}, {@code compact}, {@code verify}, {@code quarantine}
 * and {@code stats}, and that examine the machine, {@code devices} and {@code doctor}.
 */
@NullMarked
package dev.granary.cli.operation;

import org.jspecify.annotations.NullMarked;
