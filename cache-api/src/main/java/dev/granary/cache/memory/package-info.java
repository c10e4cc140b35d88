/** In-memory caches of values created in this process. */
@NullMarked
package dev.granary.cache.memory;

import org.jspecify.annotations.NullMarked;
