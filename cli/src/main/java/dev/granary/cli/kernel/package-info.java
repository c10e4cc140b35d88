/**
 * Commands on kernels: {@code populate}, {@code get} and {@code manifest} for those of a manifest,
 * {@code plan} and {@code tune} for a kernel plan; and compilers in processes of their own, whose
 * end does not end the command.
 */
@NullMarked
package dev.granary.cli.kernel;

import org.jspecify.annotations.NullMarked;
