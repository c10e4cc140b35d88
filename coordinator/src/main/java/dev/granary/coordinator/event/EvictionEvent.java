package dev.granary.coordinator.event;

import java.time.Duration;

/**
 * End of an eviction by this process: a sweep of the local directory, or programs that left the
 * memory tier for others. Entries of programs that leave the memory tier stay in the other tiers.
 *
 * @param tier {@code local} or {@code memory}
 * @param entries the number of entries, in memory of programs
 * @param bytes their length in the directory, in bytes; 0 in memory
 * @param duration the time of evicting
 */
public record EvictionEvent(String tier, long entries, long bytes, Duration duration)
        implements GranaryEvent {}
