/** Kills processes that share a local directory, as often as it is told, and counts what was lost. */
@NullMarked
package dev.granary.it.crash;

import org.jspecify.annotations.NullMarked;
