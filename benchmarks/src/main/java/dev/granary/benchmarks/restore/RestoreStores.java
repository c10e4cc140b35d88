package dev.granary.benchmarks.restore;

import dev.granary.benchmarks.harness.Workspace;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.config.KeyTexts;
import dev.granary.s3.embedded.EmbeddedS3;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;

/** The directory and the bucket of one run: both new. */
final class RestoreStores extends Workspace {
    private static final String BUCKET = "granary-restore";

    private final EmbeddedS3 server;
    private final KeyTexts.Pair keys;

    /** Creates the directory, and starts a server in this process. */
    RestoreStores(Path parent, PrintWriter progress) throws IOException, ConfigException {
        super(parent, "granary-restore-", progress);
        keys = KeyTexts.create("bench");
        server = EmbeddedS3.start(null);
        server.createBucket(BUCKET);
        System.setProperty("aws.accessKeyId", server.accessKey());
        System.setProperty("aws.secretAccessKey", server.secretKey());
        System.setProperty("aws.region", "us-east-1");
    }

    /** Opens a cache that fills the directory and the bucket with signed entries. */
    Granary openForFilling() throws ConfigException {
        return Granary.open(
                withBucket().directory(local()).signingKey(keys.privateKey()).build());
    }

    /** Opens a cache whose lookups hit the directory. */
    Granary openLocal() throws ConfigException {
        return Granary.open(builder().offline().directory(local()).build());
    }

    /** Opens a cache whose lookups hit the directory, and use signed entries only. */
    Granary openRequiring() throws ConfigException {
        return Granary.open(builder()
                .offline()
                .directory(local())
                .trust("require")
                .trustedKeys(keys.publicKey())
                .signingKey(keys.privateKey())
                .build());
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
        return builder()
                .bucket("s3://" + BUCKET + "/kernels")
                .endpoint(server.endpoint().toString());
    }

    private static GranaryConfigBuilder builder() throws ConfigException {
        return GranaryConfig.builder().primitiveCacheCapacity(0);
    }

    @Override
    public void close() throws IOException {
        server.close();
        super.close();
    }
}
