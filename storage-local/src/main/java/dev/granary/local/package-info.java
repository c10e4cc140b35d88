/** The local tier: one directory shared by any number of processes. */
@NullMarked
package dev.granary.local;

import org.jspecify.annotations.NullMarked;
