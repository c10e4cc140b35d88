/** Caches in memory: what was created in this process and is handed out again. */
@NullMarked
package dev.granary.cache.memory;

import org.jspecify.annotations.NullMarked;
