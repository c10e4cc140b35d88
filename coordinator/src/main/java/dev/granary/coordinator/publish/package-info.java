/** Write-behind and uploads: entries are stored and published after a lookup has returned. */
@NullMarked
package dev.granary.coordinator.publish;

import org.jspecify.annotations.NullMarked;
