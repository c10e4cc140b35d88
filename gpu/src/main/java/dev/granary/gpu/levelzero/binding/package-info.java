/**
 * The calls of Level Zero, one class for each subject, through the foreign function interface of
 * the JDK.
 *
 * <p>Each call checks its status: a failure throws a {@link dev.granary.gpu.DriverException} with
 * call and code. Handles and device addresses are {@code long} and never 0. The layouts of the
 * structures are those of 64-bit platforms (oneAPI Level Zero Specification, "Core Programming
 * Guide" and API reference).
 */
@NullMarked
package dev.granary.gpu.levelzero.binding;

import org.jspecify.annotations.NullMarked;
