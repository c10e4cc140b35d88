/**
 * Configuration from code, else the environment, else a file, else defaults. A wrong value causes
 * an exception whose message names the necessary change.
 */
@NullMarked
package dev.granary.coordinator.config;

import org.jspecify.annotations.NullMarked;
