/** Publication of single entries by conditional writes. */
@NullMarked
package dev.granary.s3.publish;

import org.jspecify.annotations.NullMarked;
