/**
 * Commands on kernels: {@code populate}, {@code get} and {@code manifest} for those of a manifest,
 * {@code plan} for a kernel plan.
 */
@NullMarked
package dev.granary.cli.kernel;

import org.jspecify.annotations.NullMarked;
