/** Tests of the common parts of transports. */
@NullMarked
package dev.granary.s3.store;

import org.jspecify.annotations.NullMarked;
