/** Files of TOML that people write: the manifest and the configuration. */
@NullMarked
package dev.granary.coordinator.toml;

import org.jspecify.annotations.NullMarked;
