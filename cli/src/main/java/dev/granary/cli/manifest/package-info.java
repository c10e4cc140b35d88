/** Kernel manifests: parsing, validation, and resolution to descriptors. */
@NullMarked
package dev.granary.cli.manifest;

import org.jspecify.annotations.NullMarked;
