package dev.granary.s3.contract;

import dev.granary.s3.S3Config;
import dev.granary.s3.S3Location;
import dev.granary.s3.embedded.EmbeddedS3;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.MinIOContainer;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.BucketAlreadyExistsException;
import software.amazon.awssdk.services.s3.model.BucketAlreadyOwnedByYouException;

/**
 * The S3 server that the tests of this process run against; started once, ends with the process, and says on standard output which it is.
 *
 * <ol>
 *   <li>The server that {@code GRANARY_TEST_S3_ENDPOINT} names, with {@code AWS_ACCESS_KEY_ID} and {@code AWS_SECRET_ACCESS_KEY}, and the
 *       bucket {@code GRANARY_TEST_S3_BUCKET} where that is set;
 *   <li>else MinIO in a container, where Docker runs;
 *   <li>else the embedded server.
 * </ol>
 */
public final class TestS3 {
    /** The image of the MinIO server: pinned, since no newer one is published. */
    private static final String MINIO_IMAGE = "minio/minio:RELEASE.2025-09-07T16-13-09Z";

    private static final String DEFAULT_BUCKET = "granary-test";

    private static @Nullable TestS3 instance;

    private final URI endpoint;
    private final String accessKey;
    private final String secretKey;
    private final String bucket;
    private final Optional<EmbeddedS3> embedded;

    private TestS3(String name, URI endpoint, String accessKey, String secretKey, String bucket, Optional<EmbeddedS3> embedded) {
        this.embedded = embedded;
        this.endpoint = endpoint;
        this.accessKey = accessKey;
        this.secretKey = secretKey;
        this.bucket = bucket;
        createBucket();
        System.out.println("granary.test.s3=" + name + " at " + endpoint + ", bucket " + bucket);
    }

    /** The one server. */
    public static synchronized TestS3 server() {
        if (instance == null) {
            instance = find();
        }
        return instance;
    }

    /** Settings for a part of the bucket that no other test uses. */
    public S3Config.Builder config() {
        return config(bucket);
    }

    /** Settings for a part of another bucket, which need not exist. */
    public S3Config.Builder config(String otherBucket) {
        return S3Config.builder(new S3Location(otherBucket, "test-" + UUID.randomUUID()))
                .endpoint(endpoint)
                .region("us-east-1")
                .credentials(accessKey, secretKey);
    }

    /** The environment of a {@code granary} process that uses a part of the bucket that no other test uses. */
    public Map<String, String> environment() {
        return Map.of(
                "GRANARY_BUCKET", "s3://" + bucket + "/test-" + UUID.randomUUID(),
                "GRANARY_S3_ENDPOINT", endpoint.toString(),
                "AWS_ACCESS_KEY_ID", accessKey,
                "AWS_SECRET_ACCESS_KEY", secretKey,
                "AWS_REGION", "us-east-1");
    }

    /** A client of the server, for what a test does behind Granary's back; to be closed by the caller. */
    public S3Client client() {
        return S3Client.builder()
                .endpointOverride(endpoint)
                .forcePathStyle(true)
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(accessKey, secretKey)))
                .build();
    }

    /** A faulty way to the server; to be closed by the caller. */
    public FaultyS3 faulty() throws IOException {
        return embedded.isPresent() ? FaultyS3.inFrontOf(embedded.get()) : FaultyS3.inFrontOf(endpoint);
    }

    /** {@link Fault#each} that {@link #faulty} can do: without the broken conditions where the server cannot be told to break them. */
    public List<Fault> faults() {
        return Fault.each().stream().filter(fault -> embedded.isPresent() || !(fault instanceof Fault.Conditioned)).toList();
    }

    private static TestS3 find() {
        Map<String, String> environment = System.getenv();
        String named = environment.getOrDefault("GRANARY_TEST_S3_ENDPOINT", "");
        if (!named.isEmpty()) {
            return new TestS3("the server of GRANARY_TEST_S3_ENDPOINT", URI.create(named), required(environment, "AWS_ACCESS_KEY_ID"),
                    required(environment, "AWS_SECRET_ACCESS_KEY"), environment.getOrDefault("GRANARY_TEST_S3_BUCKET", DEFAULT_BUCKET),
                    Optional.empty());
        }
        return minio().orElseGet(TestS3::embedded);
    }

    private static Optional<TestS3> minio() {
        if (!DockerClientFactory.instance().isDockerAvailable()) {
            return Optional.empty();
        }
        @SuppressWarnings("resource") // ends with the process
        MinIOContainer container = new MinIOContainer(MINIO_IMAGE);
        container.start();
        return Optional.of(new TestS3("MinIO in a container", URI.create(container.getS3URL()), container.getUserName(),
                container.getPassword(), DEFAULT_BUCKET, Optional.empty()));
    }

    private static TestS3 embedded() {
        try {
            EmbeddedS3 server = EmbeddedS3.start(null); // ends with the process
            return new TestS3("the embedded server", server.endpoint(), server.accessKey(), server.secretKey(), DEFAULT_BUCKET,
                    Optional.of(server));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void createBucket() {
        try (S3Client client = client()) {
            client.createBucket(request -> request.bucket(bucket));
        } catch (BucketAlreadyOwnedByYouException | BucketAlreadyExistsException exists) {
            // as it should be
        }
    }

    private static String required(Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "");
        if (value.isEmpty()) {
            throw new IllegalStateException("GRANARY_TEST_S3_ENDPOINT is set, and " + name + " is not: set it too");
        }
        return value;
    }
}
