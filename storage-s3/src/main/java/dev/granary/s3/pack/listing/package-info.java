/** Listings: the entries of packs and unpacked entries, each once, and their early end. */
@NullMarked
package dev.granary.s3.pack.listing;

import org.jspecify.annotations.NullMarked;
