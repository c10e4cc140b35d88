/** Writes whose responses may be ambiguous: when to repeat them, and whose object is there. */
@NullMarked
package dev.granary.s3.write;

import org.jspecify.annotations.NullMarked;
