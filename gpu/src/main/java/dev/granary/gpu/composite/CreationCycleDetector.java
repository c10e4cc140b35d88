package dev.granary.gpu.composite;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Detector of cycles among descriptors whose primitives are created, so that a cycle is an error
 * and not a deadlock. The parts of a primitive may be created by several threads; the in-memory
 * cache detects cycles of waiting threads only. Thread-safe.
 */
final class CreationCycleDetector {
    private final Map<Object, Map<Object, Integer>> dependencies = new HashMap<>();

    /**
     * Records that the creation of {@code dependent} needs {@code part}, until {@link #remove}.
     *
     * @throws IllegalStateException if the creation of {@code part} needs {@code dependent}
     */
    synchronized void add(Object dependent, Object part) {
        if (dependsOn(part, dependent, new HashSet<>())) {
            throw new IllegalStateException("A primitive needs itself: " + dependent + " requests "
                    + part + (dependent.equals(part) ? "" : ", whose creation needs " + dependent));
        }
        dependencies.computeIfAbsent(dependent, _ -> new HashMap<>()).merge(part, 1, Integer::sum);
    }

    synchronized void remove(Object dependent, Object part) {
        dependencies.computeIfPresent(dependent, (_, parts) -> {
            parts.computeIfPresent(part, (_, times) -> times == 1 ? null : times - 1);
            return parts.isEmpty() ? null : parts;
        });
    }

    /** Returns the number of creations that wait for parts. */
    synchronized int waitingCreations() {
        return dependencies.size();
    }

    private boolean dependsOn(Object from, Object sought, Set<Object> visited) {
        return from.equals(sought)
                || (visited.add(from)
                        && dependencies.getOrDefault(from, Map.of()).keySet().stream()
                                .anyMatch(next -> dependsOn(next, sought, visited)));
    }
}
