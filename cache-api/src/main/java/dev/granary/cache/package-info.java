/**
 * The domain of Granary and its store interface: ids, targets, binaries, entries, and the
 * {@link dev.granary.cache.PersistentCache} that stores them.
 *
 * <p>This package depends on no store's client library and on no driver. GPU APIs implement
 * {@link dev.granary.cache.Engine} and {@link dev.granary.cache.Primitive}; stores implement
 * {@link dev.granary.cache.PersistentCache}.
 */
@NullMarked
package dev.granary.cache;

import org.jspecify.annotations.NullMarked;
