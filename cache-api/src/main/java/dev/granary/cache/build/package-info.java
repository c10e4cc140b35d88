/**
 * Coordination of builds in progress, for all caches: detection of cycles and of too little stack.
 * Not for users of the library.
 */
@NullMarked
package dev.granary.cache.build;

import org.jspecify.annotations.NullMarked;
