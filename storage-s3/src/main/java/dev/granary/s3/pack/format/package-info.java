/** The stored form of packs: entries one after the other, and an index at the end. */
@NullMarked
package dev.granary.s3.pack.format;

import org.jspecify.annotations.NullMarked;
