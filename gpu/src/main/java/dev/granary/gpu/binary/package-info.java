/**
 * Containers of compiled programs, read without a driver, and the check whether they are for a
 * target.
 */
@NullMarked
package dev.granary.gpu.binary;

import org.jspecify.annotations.NullMarked;
