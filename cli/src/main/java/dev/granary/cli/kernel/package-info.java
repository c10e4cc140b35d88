/** Commands on the kernels of a manifest: {@code populate}, {@code run} and {@code manifest}. */
@NullMarked
package dev.granary.cli.kernel;

import org.jspecify.annotations.NullMarked;
