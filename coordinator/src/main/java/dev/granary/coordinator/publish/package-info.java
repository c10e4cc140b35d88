/** Write-behind: entries are stored and queued for upload after a lookup has returned. */
@NullMarked
package dev.granary.coordinator.publish;

import org.jspecify.annotations.NullMarked;
