/** The mapped files of a store: state page, index, segments, and locations in them. */
@NullMarked
package dev.granary.local.file;

import org.jspecify.annotations.NullMarked;
