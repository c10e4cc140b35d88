package dev.granary.coordinator.config;

import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.store.ConnectionOption;

import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Configuration of one shared layer: a bucket of an object store, or a shared directory. */
public sealed interface BucketConfig {
    /** Returns the address without options, such as {@code s3://kernels/team}. */
    String address();

    /** Returns the name of this layer among all layers. */
    String name();

    /** Returns which signatures of its entries count. */
    TrustPolicy trust();

    /** Returns true if entries may be published there. */
    boolean isWritable();

    /**
     * Configuration of a bucket.
     *
     * @param location bucket and prefix
     * @param access whether entries are published there
     * @param endpoint the address of its object store; empty: Amazon's
     * @param region its region; empty: the result of the AWS SDK's usual chain
     * @param client the client library
     * @param credentials the source of its credentials; empty: the AWS SDK's usual chain
     * @param trust which signatures of entries count
     * @param options further options of its address
     */
    record S3(
            S3Location location,
            S3Access access,
            Optional<URI> endpoint,
            Optional<String> region,
            S3ClientLibrary client,
            Optional<Supplier<BucketCredentials>> credentials,
            TrustPolicy trust,
            Map<ConnectionOption, String> options)
            implements BucketConfig {
        @Override
        public String address() {
            return location.toString();
        }

        /** Returns the name of this bucket among all buckets of all servers. */
        @Override
        public String name() {
            return location + endpoint.map(text -> " at " + text).orElse("");
        }

        @Override
        public boolean isWritable() {
            return access == S3Access.READ_WRITE;
        }

        /** Returns the options that exclude each other, with the cure; empty if none do. */
        String conflict() {
            boolean isAnonymous = options.containsKey(ConnectionOption.CREDENTIALS);
            boolean isOfAmazon = options.containsKey(ConnectionOption.DUAL_STACK)
                    || options.containsKey(ConnectionOption.FIPS);
            if (isAnonymous && isWritable()) {
                return "credentials=none, and unsigned requests must not write: add access=read";
            }
            if (isAnonymous && options.containsKey(ConnectionOption.PROFILE)) {
                return "credentials=none and profile=: omit one of them";
            }
            if (isOfAmazon && endpoint.isPresent()) {
                return "dual-stack= or fips=, and an endpoint: omit one of them";
            }
            boolean isOfAws = isOfAmazon || options.containsKey(ConnectionOption.PATH_STYLE);
            return isOfAws && client != S3ClientLibrary.AWS
                    ? "dual-stack=, fips= or path-style=, which need client=aws"
                    : "";
        }

        /** Returns a text for people: the name, and the values that differ from the defaults. */
        @Override
        public String toString() {
            return name()
                    + region.map(text -> " in " + text).orElse("")
                    + (client == S3ClientLibrary.AWS
                            ? ""
                            : " through " + client.name().toLowerCase(Locale.ROOT))
                    + (isWritable() ? "" : ", read-only")
                    + (options.isEmpty() ? "" : ", " + new TreeMap<>(options));
        }
    }

    /**
     * Configuration of a shared directory.
     *
     * @param path the absolute path
     * @param isWritable whether entries are published there
     * @param trust which signatures of entries count
     */
    record Directory(Path path, boolean isWritable, TrustPolicy trust) implements BucketConfig {
        /** The start of its address. */
        static final String SCHEME = "file:";

        @Override
        public String address() {
            return SCHEME + "//" + path;
        }

        @Override
        public String name() {
            return address();
        }

        /** Returns a text for people. */
        @Override
        public String toString() {
            return name() + (isWritable ? "" : ", read-only");
        }
    }
}
