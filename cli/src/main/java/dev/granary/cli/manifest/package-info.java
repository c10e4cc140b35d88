/** Kernel manifests, and the descriptors of their kernels with all files that enter them. */
@NullMarked
package dev.granary.cli.manifest;

import org.jspecify.annotations.NullMarked;
