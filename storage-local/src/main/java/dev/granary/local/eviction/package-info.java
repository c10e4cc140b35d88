/** Capacity: which entries leave, and how their bytes are given back to the disk. */
@NullMarked
package dev.granary.local.eviction;

import org.jspecify.annotations.NullMarked;
