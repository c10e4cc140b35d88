/** The {@code granary} command. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. */
@NullMarked
package dev.granary.cli;

import org.jspecify.annotations.NullMarked;
