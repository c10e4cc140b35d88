/**
 * Packs: many entries of one target in one immutable object, and the manifest that names a target's packs.
 *
 * <p>A bucket with a request for each kernel is slow to fill a node from; a pack is read with a few large requests. Every entry in a pack
 * verifies alone, so nothing that is wrong with a pack, its index or a manifest is more than a miss.
 */
@NullMarked
package dev.granary.s3.pack;

import org.jspecify.annotations.NullMarked;
