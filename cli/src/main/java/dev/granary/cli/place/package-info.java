/** Place of entries that a command line names: directories and buckets; and copies between them. */
@NullMarked
package dev.granary.cli.place;

import org.jspecify.annotations.NullMarked;
