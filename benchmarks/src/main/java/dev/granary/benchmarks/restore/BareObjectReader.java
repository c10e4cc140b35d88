package dev.granary.benchmarks.restore;

import dev.granary.cache.Id;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.s3.config.AwsEnvironment;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.ConnectionSettings;

import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;

/**
 * Reader of the objects of unpacked entries by the client library of the bucket tier, without
 * Granary: nothing is checked or decoded. A lookup in a bucket cannot be faster.
 */
final class BareObjectReader implements AutoCloseable {
    private final S3Client client;
    private final String bucket;
    private final BucketLayout layout;

    private BareObjectReader(S3Client client, String bucket, BucketLayout layout) {
        this.client = client;
        this.bucket = bucket;
        this.layout = layout;
    }

    /** Opens a client with the settings of the tier for that bucket; sends no request. */
    static BareObjectReader open(BucketConfig.S3 bucket) {
        S3ConfigBuilder settings = S3Config.builder(bucket.location());
        bucket.endpoint().ifPresent(settings::endpoint);
        bucket.region().ifPresent(settings::region);
        ConnectionSettings connection = settings.build().connection();
        S3ClientBuilder client = S3Client.builder()
                .region(AwsEnvironment.region(connection))
                .credentialsProvider(AwsEnvironment.credentials(connection))
                .overrideConfiguration(built -> built.retryStrategy(AwsRetryStrategy.doNotRetry()))
                .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                .forcePathStyle(connection.endpoint().isPresent())
                .httpClientBuilder(
                        Apache5HttpClient.builder().socketTimeout(connection.requestTimeout()));
        connection.endpoint().ifPresent(client::endpointOverride);
        return new BareObjectReader(
                client.build(), connection.bucket(), new BucketLayout(bucket.location()));
    }

    /** Reads the object of an entry. */
    void read(Id id) {
        String key = layout.entry(id);
        int length = client.getObject(
                        request -> request.bucket(bucket).key(key), ResponseTransformer.toBytes())
                .asByteArrayUnsafe()
                .length;
        if (length == 0) {
            throw new IllegalStateException("An empty object: " + key);
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
