/**
 * The domain of Granary and its plug: ids, targets, binaries, entries, and the {@link dev.granary.cache.PersistentCache} that keeps them.
 *
 * <p>Nothing here knows a store's client library or a driver. What a GPU API adds ({@link dev.granary.cache.Engine},
 * {@link dev.granary.cache.Primitive}) and what a store adds ({@link dev.granary.cache.PersistentCache}) implement the interfaces of
 * this package.
 */
@NullMarked
package dev.granary.cache;

import org.jspecify.annotations.NullMarked;
