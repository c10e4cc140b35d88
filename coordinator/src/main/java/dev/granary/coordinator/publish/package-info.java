/** Write-behind and uploads: what is stored and published after a look-up has returned. */
@NullMarked
package dev.granary.coordinator.publish;

import org.jspecify.annotations.NullMarked;
