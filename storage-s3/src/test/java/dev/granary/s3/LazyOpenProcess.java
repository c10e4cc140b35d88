package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;

import java.net.URI;
import java.time.Duration;
import java.util.List;

/** Opens buckets as a program does at its start, and does not use them. */
final class LazyOpenProcess {
    private static final int TIMES = 20;

    private LazyOpenProcess() {}

    /** Arguments: endpoints. */
    public static void main(String[] args) {
        open("first", args[0]);
        for (String endpoint : args) {
            long start = System.nanoTime();
            for (int i = 0; i < TIMES; i++) {
                open("again", endpoint);
            }
            System.out.println(endpoint + "="
                    + Duration.ofNanos((System.nanoTime() - start) / TIMES).toMillis());
        }
    }

    private static void open(String prefix, String endpoint) {
        for (S3ClientLibrary client : List.of(S3ClientLibrary.AWS, S3ClientLibrary.MINIO)) {
            S3Config config = S3Config.builder("bucket")
                    .prefix(prefix)
                    .endpoint(URI.create(endpoint))
                    .client(client)
                    .build();
            BucketTier.open(config).close();
            BulkBucket.open(config).close();
        }
    }
}
