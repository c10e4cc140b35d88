/**
 * The local tier: one directory shared by any number of processes, and the claims by which they
 * avoid to compile the same kernel twice.
 */
@NullMarked
package dev.granary.local;

import org.jspecify.annotations.NullMarked;
