package dev.granary.gpu.composite;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Knows which primitive under creation asks for which other, so that a circle is an error and not a hang, whatever threads the implementations
 * use: the cache below sees only circles of threads. Thread-safe.
 */
final class CreationCycleDetector {
    private final Map<CompositeDescriptor<?>, Map<CompositeDescriptor<?>, Integer>> asked = new HashMap<>();

    /**
     * The creation of {@code asking} now needs {@code part}, until {@link #answered}.
     *
     * @throws IllegalStateException if the creation of {@code part} needs {@code asking} itself
     */
    synchronized void ask(CompositeDescriptor<?> asking, CompositeDescriptor<?> part) {
        if (needs(part, asking, new HashSet<>())) {
            throw new IllegalStateException("A primitive needs itself: " + asking + " asks for " + part
                    + (asking.equals(part) ? "" : ", whose creation needs " + asking));
        }
        asked.computeIfAbsent(asking, _ -> new HashMap<>()).merge(part, 1, Integer::sum);
    }

    synchronized void answered(CompositeDescriptor<?> asking, CompositeDescriptor<?> part) {
        asked.computeIfPresent(asking, (_, parts) -> {
            parts.computeIfPresent(part, (_, times) -> times == 1 ? null : times - 1);
            return parts.isEmpty() ? null : parts;
        });
    }

    /** How many creations wait for parts. */
    synchronized int waiting() {
        return asked.size();
    }

    private boolean needs(CompositeDescriptor<?> from, CompositeDescriptor<?> sought, Set<CompositeDescriptor<?>> seen) {
        return from.equals(sought)
                || (seen.add(from)
                        && asked.getOrDefault(from, Map.of()).keySet().stream().anyMatch(next -> needs(next, sought, seen)));
    }
}
