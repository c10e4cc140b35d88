/** Remote layers: lookups in buckets within time budgets, and the queues of their uploads. */
@NullMarked
package dev.granary.coordinator.layer;

import org.jspecify.annotations.NullMarked;
