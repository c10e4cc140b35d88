package dev.granary.benchmarks.restore;

import dev.granary.benchmarks.harness.Workspace;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.s3.embedded.EmbeddedS3;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;

/** The directory and the bucket of one run: a new directory, and a bucket that may be given. */
final class RestoreStores extends Workspace {
    private static final String BUCKET = "granary-restore";

    private final Optional<EmbeddedS3> server;
    private final String bucket;
    private final @Nullable String endpoint;

    /**
     * Creates the directory, and starts a server in this process if no bucket is given.
     *
     * @param bucket the address of the bucket; empty for one of a server in this process
     * @param endpoint the address of its object store; null for that of the environment
     */
    RestoreStores(
            Path parent, Optional<String> bucket, @Nullable String endpoint, PrintWriter progress)
            throws IOException {
        super(parent, "granary-restore-", progress);
        if (bucket.isPresent()) {
            this.server = Optional.empty();
            this.bucket = bucket.get();
            this.endpoint = endpoint;
        } else {
            EmbeddedS3 started = EmbeddedS3.start(null);
            started.createBucket(BUCKET);
            System.setProperty("aws.accessKeyId", started.accessKey());
            System.setProperty("aws.secretAccessKey", started.secretKey());
            System.setProperty("aws.region", "us-east-1");
            this.server = Optional.of(started);
            this.bucket = "s3://" + BUCKET + "/kernels";
            this.endpoint = started.endpoint().toString();
        }
    }

    /** Returns the text that names the bucket in the report. */
    String bucketName() {
        return server.isPresent() ? "an S3 server in this process" : bucket;
    }

    /** Opens a cache that fills the directory and the bucket. */
    Granary openForFilling() throws ConfigException {
        return Granary.open(withBucket().directory(local()).build());
    }

    /** Opens a cache whose lookups hit the directory. */
    Granary openLocal() throws ConfigException {
        return Granary.open(builder().offline().directory(local()).build());
    }

    /** Opens a cache whose lookups hit the bucket, since it has no local tier. */
    Granary openBucket() throws ConfigException {
        return Granary.open(withBucket()
                .directory(directory().resolve("unused"))
                .capacity("0")
                .build());
    }

    /** Opens the reader of the bucket's objects without Granary. */
    BareObjectReader openBare() throws ConfigException {
        return BareObjectReader.open(
                (BucketConfig.S3) withBucket().build().buckets().getFirst());
    }

    private Path local() {
        return directory().resolve("granary");
    }

    private GranaryConfigBuilder withBucket() throws ConfigException {
        GranaryConfigBuilder builder = builder().bucket(bucket);
        return endpoint == null ? builder : builder.endpoint(endpoint);
    }

    private static GranaryConfigBuilder builder() throws ConfigException {
        return GranaryConfig.builder().primitiveCacheCapacity(0);
    }

    @Override
    public void close() throws IOException {
        server.ifPresent(EmbeddedS3::close);
        super.close();
    }
}
