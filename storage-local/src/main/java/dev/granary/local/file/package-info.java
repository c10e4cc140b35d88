/** The mapped files of a store: state page, index and segments. */
@NullMarked
package dev.granary.local.file;

import org.jspecify.annotations.NullMarked;
