/** Server processes for the scripts in {@code it/servers}. */
@NullMarked
package dev.granary.it.servers;

import org.jspecify.annotations.NullMarked;
