/** Crash campaign: kills processes that share a local directory, and counts the losses. */
@NullMarked
package dev.granary.it.crash;

import org.jspecify.annotations.NullMarked;
