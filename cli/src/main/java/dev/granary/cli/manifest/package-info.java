/** The manifest of kernels that {@code populate} and {@code run} take: parsed, checked, and turned into descriptors. */
@NullMarked
package dev.granary.cli.manifest;

import org.jspecify.annotations.NullMarked;
