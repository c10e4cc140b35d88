package dev.granary.coordinator.event;

import java.time.Duration;

/**
 * End of a sweep of this process that evicted entries from the local directory.
 *
 * @param entries the number of entries
 * @param bytes their length in the directory, in bytes
 * @param duration the time of evicting
 */
public record EvictionEvent(long entries, long bytes, Duration duration) implements GranaryEvent {}
