package dev.granary.benchmarks.start;

import dev.granary.s3.embedded.EmbeddedS3;

import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;

import java.util.UUID;

/** A client of a bucket that has sent its requests before, and so waits for the server only. */
final class WarmClient implements AutoCloseable {
    private static final int WARM_UP = 100;

    private final S3Client client;
    private final String bucket;

    WarmClient(EmbeddedS3 server, String bucket) {
        this.bucket = bucket;
        this.client = S3Client.builder()
                .endpointOverride(server.endpoint())
                .forcePathStyle(true)
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(
                        AwsBasicCredentials.create(server.accessKey(), server.secretKey())))
                .build();
        for (int i = 0; i < WARM_UP; i++) {
            roundTrips();
        }
    }

    /**
     * Returns the seconds of the requests of a first lookup: the register of packs and the entry,
     * which are absent, and the claim.
     */
    double roundTrips() {
        long start = System.nanoTime();
        requestAbsent("register");
        requestAbsent("entry");
        client.putObject(
                request -> request.bucket(bucket).key(UUID.randomUUID().toString()),
                RequestBody.empty());
        return (System.nanoTime() - start) / 1e9;
    }

    private void requestAbsent(String key) {
        try {
            client.getObject(request -> request.bucket(bucket).key(key)).abort();
            throw new IllegalStateException(key + " is there");
        } catch (NoSuchKeyException expected) {
            // as in an empty bucket
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
