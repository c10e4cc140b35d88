package dev.granary.s3.contract;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.embedded.EmbeddedS3;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.MinIOContainer;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.BucketAlreadyExistsException;
import software.amazon.awssdk.services.s3.model.BucketAlreadyOwnedByYouException;
import software.amazon.awssdk.services.s3.model.NoSuchBucketException;

/**
 * The S3 server that the tests of this process run against; started once, ends with the process, and says on standard output which it is.
 *
 * <ol>
 *   <li>The server that {@code GRANARY_TEST_S3_ENDPOINT} names, with {@code AWS_ACCESS_KEY_ID} and {@code AWS_SECRET_ACCESS_KEY}, and the
 *       bucket {@code GRANARY_TEST_S3_BUCKET} and the region {@code AWS_REGION} where they are set; {@code GRANARY_TEST_S3_SERVER} says
 *       which {@link KnownServer} it is;
 *   <li>else MinIO in a container, where Docker runs;
 *   <li>else the embedded server.
 * </ol>
 */
public final class TestS3 {
    /** The image of the MinIO server: pinned, since no newer one is published. */
    private static final String MINIO_IMAGE = "minio/minio:RELEASE.2025-09-07T16-13-09Z";

    private static final String DEFAULT_BUCKET = "granary-test";

    private static final String DEFAULT_REGION = "us-east-1";

    private static @Nullable TestS3 instance;

    private final KnownServer kind;
    private final URI endpoint;
    private final String accessKey;
    private final String secretKey;
    private final String region;
    private final String bucket;
    private Optional<EmbeddedS3> embedded = Optional.empty();

    private TestS3(String name, KnownServer kind, URI endpoint, String accessKey, String secretKey, String region, String bucket) {
        this.kind = kind;
        this.endpoint = endpoint;
        this.accessKey = accessKey;
        this.secretKey = secretKey;
        this.region = region;
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

    /**
     * The server that these variables name, or none; the class comment says which.
     *
     * @throws IllegalStateException if the endpoint is there and something that goes with it is not
     */
    static Optional<TestS3> named(Map<String, String> environment) {
        String endpoint = environment.getOrDefault("GRANARY_TEST_S3_ENDPOINT", "");
        if (endpoint.isEmpty()) {
            return Optional.empty();
        }
        KnownServer kind = KnownServer.named(environment.getOrDefault("GRANARY_TEST_S3_SERVER", ""));
        String name = kind == KnownServer.OTHER ? "the server of GRANARY_TEST_S3_ENDPOINT" : kind.id();
        return Optional.of(new TestS3(name, kind, URI.create(endpoint), required(environment, "AWS_ACCESS_KEY_ID"),
                required(environment, "AWS_SECRET_ACCESS_KEY"), environment.getOrDefault("AWS_REGION", DEFAULT_REGION),
                environment.getOrDefault("GRANARY_TEST_S3_BUCKET", DEFAULT_BUCKET)));
    }

    /** Where the server is known to do otherwise than Amazon S3. */
    public Set<Deviation> deviations() {
        return kind.deviations();
    }

    /** The bucket of the tests. */
    public String bucket() {
        return bucket;
    }

    /** Settings for a part of the bucket that no other test uses. */
    public S3Config.Builder config() {
        return config(bucket);
    }

    /** Settings for a part of another bucket, which need not exist. */
    public S3Config.Builder config(String otherBucket) {
        return S3Config.builder(new S3Location(otherBucket, "test-" + UUID.randomUUID()))
                .endpoint(endpoint)
                .region(region)
                .credentials(accessKey, secretKey);
    }

    /** The environment of a {@code granary} process that uses a part of the bucket that no other test uses. */
    public Map<String, String> environment() {
        return Map.of(
                "GRANARY_BUCKET", "s3://" + bucket + "/test-" + UUID.randomUUID(),
                "GRANARY_S3_ENDPOINT", endpoint.toString(),
                "AWS_ACCESS_KEY_ID", accessKey,
                "AWS_SECRET_ACCESS_KEY", secretKey,
                "AWS_REGION", region);
    }

    /** A client of the server, for what a test does behind Granary's back; to be closed by the caller. */
    public S3Client client() {
        return builder()
                .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                .serviceConfiguration(s3 -> s3.pathStyleAccessEnabled(true).chunkedEncodingEnabled(false))
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

    /** A client with the defaults of the AWS SDK, which not every server can talk to; to be closed by the caller. */
    S3Client untunedClient() {
        return builder().forcePathStyle(true).build();
    }

    private S3ClientBuilder builder() {
        return S3Client.builder()
                .endpointOverride(endpoint)
                .region(Region.of(region))
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(accessKey, secretKey)));
    }

    private static TestS3 find() {
        return named(System.getenv()).or(TestS3::minio).orElseGet(TestS3::embedded);
    }

    private static Optional<TestS3> minio() {
        if (!DockerClientFactory.instance().isDockerAvailable()) {
            return Optional.empty();
        }
        @SuppressWarnings("resource") // ends with the process
        MinIOContainer container = new MinIOContainer(MINIO_IMAGE);
        container.start();
        return Optional.of(new TestS3("MinIO in a container", KnownServer.MINIO, URI.create(container.getS3URL()),
                container.getUserName(), container.getPassword(), DEFAULT_REGION, DEFAULT_BUCKET));
    }

    private static TestS3 embedded() {
        try {
            EmbeddedS3 server = EmbeddedS3.start(null); // ends with the process
            TestS3 started = new TestS3("the embedded server", KnownServer.EMBEDDED, server.endpoint(), server.accessKey(),
                    server.secretKey(), DEFAULT_REGION, DEFAULT_BUCKET);
            started.embedded = Optional.of(server);
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void createBucket() {
        try (S3Client client = client()) {
            client.headBucket(request -> request.bucket(bucket)); // who may use a bucket may not always make one
        } catch (NoSuchBucketException none) {
            try (S3Client client = client()) {
                client.createBucket(request -> request.bucket(bucket));
            } catch (BucketAlreadyOwnedByYouException | BucketAlreadyExistsException exists) {
                // made by another process meanwhile
            }
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
