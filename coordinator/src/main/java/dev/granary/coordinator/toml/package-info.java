/** TOML files: the kernel manifest and the configuration. */
@NullMarked
package dev.granary.coordinator.toml;

import org.jspecify.annotations.NullMarked;
