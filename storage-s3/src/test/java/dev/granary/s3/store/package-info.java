/** Tests of what transports share. */
@NullMarked
package dev.granary.s3.store;

import org.jspecify.annotations.NullMarked;
