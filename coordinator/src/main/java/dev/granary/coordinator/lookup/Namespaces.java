package dev.granary.coordinator.lookup;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;

import java.util.List;
import java.util.stream.Stream;

/** The ids of the same inputs in the namespaces that an engine reads. */
final class Namespaces {
    private Namespaces() {}

    /**
     * Returns {@code own}, then the ids in the other namespaces in the order of lookups.
     *
     * @param own the id in the namespace of the engine; not empty
     * @param readable the other targets that the engine reads; those that {@link Backend#reads}
     *     does not permit are left out
     */
    public static List<Id> of(Id own, List<Target> readable) {
        return Stream.concat(
                        Stream.of(own),
                        readable.stream()
                                .filter(other -> !other.equals(own.target())
                                        && own.target().backend().reads(other.backend()))
                                .map(own::withTarget))
                .toList();
    }
}
