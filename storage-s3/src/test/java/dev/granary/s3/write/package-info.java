/** Tests of writes whose responses may be ambiguous. */
@NullMarked
package dev.granary.s3.write;

import org.jspecify.annotations.NullMarked;
