package dev.granary.coordinator.config;

import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;
import java.net.URI;
import java.util.Locale;
import java.util.Optional;

/**
 * One of the buckets that are asked in order: where it is, how it is reached, and whether it is written.
 *
 * @param location bucket and prefix
 * @param access whether anything is published there
 * @param endpoint the address of its object store; empty: Amazon's
 * @param region its region; empty: what the usual chain of the AWS SDK finds
 * @param client the client library that talks to it
 */
public record BucketConfig(S3Location location, S3Access access, Optional<URI> endpoint, Optional<String> region, S3ClientLibrary client) {
    /** What names it among all buckets of all servers. */
    public String name() {
        return location + endpoint.map(address -> " at " + address).orElse("");
    }

    /** True where something may be published there. */
    public boolean isWritable() {
        return access == S3Access.READ_WRITE;
    }

    /** For people: the name, and what is out of the ordinary. */
    @Override
    public String toString() {
        return name() + region.map(text -> " in " + text).orElse("")
                + (client == S3ClientLibrary.AWS ? "" : " through " + client.name().toLowerCase(Locale.ROOT)) + (isWritable() ? "" : ", only read");
    }
}
