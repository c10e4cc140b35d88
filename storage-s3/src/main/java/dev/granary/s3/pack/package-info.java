/**
 * Packs: many entries of one target in one immutable object, named by the head of the target.
 *
 * <p>A pack is read with a few large requests, while a request for each entry makes filling a node
 * slow. Every entry in a pack is verified by itself, so that damage to a pack, its index or a head
 * is only a miss.
 */
@NullMarked
package dev.granary.s3.pack;

import org.jspecify.annotations.NullMarked;
