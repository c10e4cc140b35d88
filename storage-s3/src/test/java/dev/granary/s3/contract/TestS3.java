package dev.granary.s3.contract;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.embedded.EmbeddedS3;

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

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * The S3 server of the tests in this process; starts once, ends with the process, and is named on
 * standard output.
 *
 * <ol>
 *   <li>The server at {@code GRANARY_TEST_S3_ENDPOINT}, with {@code AWS_ACCESS_KEY_ID} and
 *       {@code AWS_SECRET_ACCESS_KEY}, and {@code GRANARY_TEST_S3_BUCKET} and {@code AWS_REGION} if
 *       set; {@code GRANARY_TEST_S3_SERVER} names its {@link KnownServer};
 *   <li>else MinIO in a container, if Docker runs;
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

    private TestS3(
            String name,
            KnownServer kind,
            URI endpoint,
            String accessKey,
            String secretKey,
            String region,
            String bucket) {
        this.kind = kind;
        this.endpoint = endpoint;
        this.accessKey = accessKey;
        this.secretKey = secretKey;
        this.region = region;
        this.bucket = bucket;
        createBucket();
        System.out.println("granary.test.s3=" + name + " at " + endpoint + ", bucket " + bucket);
    }

    /** Returns the only server. */
    public static synchronized TestS3 server() {
        if (instance == null) {
            instance = find();
        }
        return instance;
    }

    /**
     * Returns the server of these variables, or none; see the class comment.
     *
     * @throws IllegalStateException if the endpoint is set, but a required variable is not
     */
    static Optional<TestS3> named(Map<String, String> environment) {
        String endpoint = environment.getOrDefault("GRANARY_TEST_S3_ENDPOINT", "");
        if (endpoint.isEmpty()) {
            return Optional.empty();
        }
        KnownServer kind =
                KnownServer.named(environment.getOrDefault("GRANARY_TEST_S3_SERVER", ""));
        String name =
                kind == KnownServer.OTHER ? "the server of GRANARY_TEST_S3_ENDPOINT" : kind.id();
        return Optional.of(new TestS3(
                name,
                kind,
                URI.create(endpoint),
                required(environment, "AWS_ACCESS_KEY_ID"),
                required(environment, "AWS_SECRET_ACCESS_KEY"),
                environment.getOrDefault("AWS_REGION", DEFAULT_REGION),
                environment.getOrDefault("GRANARY_TEST_S3_BUCKET", DEFAULT_BUCKET)));
    }

    /** Returns the known deviations of the server from Amazon S3. */
    public Set<Deviation> deviations() {
        return kind.deviations();
    }

    /** Returns the bucket of the tests. */
    public String bucket() {
        return bucket;
    }

    /** Returns settings with a new prefix of the bucket. */
    public S3ConfigBuilder config() {
        return config(bucket);
    }

    /** Returns settings with a new prefix of another bucket, which need not exist. */
    public S3ConfigBuilder config(String otherBucket) {
        return S3Config.builder(new S3Location(otherBucket, "test-" + UUID.randomUUID()))
                .endpoint(endpoint)
                .region(region)
                .credentials(accessKey, secretKey);
    }

    /** Returns the environment of a {@code granary} process with a new prefix of the bucket. */
    public Map<String, String> environment() {
        return Map.of(
                "GRANARY_BUCKET", "s3://" + bucket + "/test-" + UUID.randomUUID(),
                "GRANARY_S3_ENDPOINT", endpoint.toString(),
                "AWS_ACCESS_KEY_ID", accessKey,
                "AWS_SECRET_ACCESS_KEY", secretKey,
                "AWS_REGION", region);
    }

    /** Returns a client of the server, for changes that bypass Granary; the caller closes it. */
    public S3Client client() {
        return builder()
                .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                .serviceConfiguration(
                        s3 -> s3.pathStyleAccessEnabled(true).chunkedEncodingEnabled(false))
                .build();
    }

    /** Returns a faulty path to the server; the caller closes it. */
    public FaultyS3 faulty() throws IOException {
        return embedded.isPresent()
                ? FaultyS3.inFrontOf(embedded.get())
                : FaultyS3.inFrontOf(endpoint);
    }

    /**
     * Returns {@link Fault#each} as far as {@link #faulty} supports it: without broken conditions
     * if the server cannot be configured so.
     */
    public List<Fault> faults() {
        return Fault.each().stream()
                .filter(fault -> embedded.isPresent() || !(fault instanceof Fault.Conditioned))
                .toList();
    }

    /**
     * Returns a client with the defaults of the AWS SDK, which some servers do not support; the
     * caller closes it.
     */
    S3Client untunedClient() {
        return builder().forcePathStyle(true).build();
    }

    private S3ClientBuilder builder() {
        return S3Client.builder()
                .endpointOverride(endpoint)
                .region(Region.of(region))
                .credentialsProvider(StaticCredentialsProvider.create(
                        AwsBasicCredentials.create(accessKey, secretKey)));
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
        return Optional.of(new TestS3(
                "MinIO in a container",
                KnownServer.MINIO,
                URI.create(container.getS3URL()),
                container.getUserName(),
                container.getPassword(),
                DEFAULT_REGION,
                DEFAULT_BUCKET));
    }

    private static TestS3 embedded() {
        try {
            EmbeddedS3 server = EmbeddedS3.start(null); // ends with the process
            TestS3 started = new TestS3(
                    "the embedded server",
                    KnownServer.EMBEDDED,
                    server.endpoint(),
                    server.accessKey(),
                    server.secretKey(),
                    DEFAULT_REGION,
                    DEFAULT_BUCKET);
            started.embedded = Optional.of(server);
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void createBucket() {
        try (S3Client client = client()) {
            // access to a bucket does not imply the permission to create one
            client.headBucket(request -> request.bucket(bucket));
        } catch (NoSuchBucketException none) {
            try (S3Client client = client()) {
                client.createBucket(request -> request.bucket(bucket));
            } catch (BucketAlreadyOwnedByYouException | BucketAlreadyExistsException exists) {
                // created by another process meanwhile
            }
        }
    }

    private static String required(Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "");
        if (value.isEmpty()) {
            throw new IllegalStateException(
                    "GRANARY_TEST_S3_ENDPOINT is set, and " + name + " is not: set it too");
        }
        return value;
    }
}
