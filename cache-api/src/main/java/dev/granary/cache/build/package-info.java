/** Builds under way, whichever cache they are for: the graph of waits, and the stack that a build needs. Not for users of the library. */
@NullMarked
package dev.granary.cache.build;

import org.jspecify.annotations.NullMarked;
