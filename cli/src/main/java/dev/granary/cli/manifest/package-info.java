/** Kernel manifests: parsing and validation. */
@NullMarked
package dev.granary.cli.manifest;

import org.jspecify.annotations.NullMarked;
