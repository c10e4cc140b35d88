package dev.granary.coordinator;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.BucketTier;
import dev.granary.s3.S3Config;
import java.util.Optional;

/** Makes the bucket tier that a configuration names. */
final class Buckets {
    private Buckets() {}

    /** The bucket tier, opened without asking the bucket; empty where none is configured. */
    static Optional<BucketTier> open(GranaryConfig config) throws ConfigException {
        if (config.bucket().isEmpty()) {
            return Optional.empty();
        }
        try {
            S3Config.Builder settings = S3Config.builder(config.bucket().get()).client(config.client())
                    .producer("granary " + Version.NUMBER);
            config.endpoint().ifPresent(settings::endpoint);
            return Optional.of(BucketTier.open(settings.build()));
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }

    /** What names the bucket among all buckets of all servers; empty text where none is configured. */
    static String name(GranaryConfig config) {
        return config.bucket()
                .map(location -> location + config.endpoint().map(endpoint -> " at " + endpoint).orElse(""))
                .orElse("");
    }
}
