/** Recordings: kernel manifests that programs write while they run. */
@NullMarked
package dev.granary.coordinator.recording;

import org.jspecify.annotations.NullMarked;
