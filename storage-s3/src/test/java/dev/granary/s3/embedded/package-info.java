/** Tests of the embedded server. */
@NullMarked
package dev.granary.s3.embedded;

import org.jspecify.annotations.NullMarked;
