package dev.granary.coordinator;

import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.config.GranaryConfig;
import java.util.Optional;

/** Opens the bucket that a configuration names. */
final class Buckets {
    private Buckets() {}

    static Optional<PersistentCache> open(GranaryConfig config) {
        return Optional.empty();
    }

    static String name(GranaryConfig config) {
        return config.bucket() + " " + config.endpoint();
    }
}
