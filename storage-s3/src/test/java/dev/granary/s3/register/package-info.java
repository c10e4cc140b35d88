/** Tests of the register of a target. */
@NullMarked
package dev.granary.s3.register;

import org.jspecify.annotations.NullMarked;
