/** The local tier: one directory that any number of processes share. */
@NullMarked
package dev.granary.local;

import org.jspecify.annotations.NullMarked;
