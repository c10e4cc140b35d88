package dev.granary.coordinator.config;

import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;

import java.net.URI;
import java.util.Locale;
import java.util.Optional;

/**
 * Configuration of one bucket.
 *
 * @param location bucket and prefix
 * @param access whether entries are published there
 * @param endpoint the address of its object store; empty: Amazon's
 * @param region its region; empty: the result of the AWS SDK's usual chain
 * @param client the client library
 */
public record BucketConfig(
        S3Location location,
        S3Access access,
        Optional<URI> endpoint,
        Optional<String> region,
        S3ClientLibrary client) {
    /** Returns the name of this bucket among all buckets of all servers. */
    public String name() {
        return location + endpoint.map(address -> " at " + address).orElse("");
    }

    /** Returns true if entries may be published there. */
    public boolean isWritable() {
        return access == S3Access.READ_WRITE;
    }

    /** Returns a text for people: the name, and the values that differ from the defaults. */
    @Override
    public String toString() {
        return name()
                + region.map(text -> " in " + text).orElse("")
                + (client == S3ClientLibrary.AWS
                        ? ""
                        : " through " + client.name().toLowerCase(Locale.ROOT))
                + (isWritable() ? "" : ", read-only");
    }
}
