package dev.granary.gpu.composite;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Detector of cycles among descriptors whose primitives are created, so that a cycle is an error
 * and not a deadlock. The parts of a primitive may be created by several threads; the in-memory
 * cache detects cycles of waiting threads only. Thread-safe.
 */
final class CreationCycleDetector {
    private final List<Dependency> dependencies = new ArrayList<>();

    /**
     * The need of one creation for a part. It ends by writing a field and not by a call, because
     * the creation may have failed for lack of stack.
     */
    static final class Dependency {
        private final Object dependent;
        private final Object part;
        volatile boolean hasEnded;

        Dependency(Object dependent, Object part) {
            this.dependent = dependent;
            this.part = part;
        }
    }

    /**
     * Records a dependency until it has ended.
     *
     * @throws IllegalStateException if the creation of the part needs the dependent
     */
    synchronized void add(Dependency added) {
        dependencies.removeIf(dependency -> dependency.hasEnded);
        Object dependent = added.dependent;
        Object part = added.part;
        if (dependsOn(part, dependent, new HashSet<>())) {
            throw new IllegalStateException("A primitive needs itself: " + dependent + " requests "
                    + part + (dependent.equals(part) ? "" : ", whose creation needs " + dependent));
        }
        dependencies.add(added);
    }

    /** Returns the number of parts that creations wait for. */
    synchronized int waitingCreations() {
        dependencies.removeIf(dependency -> dependency.hasEnded);
        return dependencies.size();
    }

    private boolean dependsOn(Object from, Object sought, Set<Object> visited) {
        return from.equals(sought)
                || (visited.add(from)
                        && dependencies.stream()
                                .anyMatch(next -> next.dependent.equals(from)
                                        && dependsOn(next.part, sought, visited)));
    }
}
