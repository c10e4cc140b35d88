/** Claims, held by file locks, on work that processes of one machine would otherwise do twice. */
@NullMarked
package dev.granary.local.claim;

import org.jspecify.annotations.NullMarked;
