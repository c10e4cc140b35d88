package dev.granary.coordinator.publish;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;

/** Bounded set of primitives with incomplete binaries, oldest first. Thread-safe. */
final class IncompletePrimitives {
    private final int capacity;
    private final LinkedHashSet<CompiledPrimitive> primitives =
            new LinkedHashSet<>(); // guarded by this

    IncompletePrimitives(int capacity) {
        this.capacity = capacity;
    }

    /** Adds a primitive; returns the oldest if there are too many. */
    synchronized Optional<CompiledPrimitive> add(CompiledPrimitive primitive) {
        primitives.add(primitive);
        return primitives.size() > capacity ? Optional.of(primitives.getFirst()) : Optional.empty();
    }

    /** Removes a primitive; returns false if the set did not contain it. */
    synchronized boolean remove(CompiledPrimitive primitive) {
        return primitives.remove(primitive);
    }

    synchronized boolean contains(CompiledPrimitive primitive) {
        return primitives.contains(primitive);
    }

    synchronized List<CompiledPrimitive> all() {
        return List.copyOf(primitives);
    }
}
