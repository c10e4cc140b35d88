package dev.granary.benchmarks.bucket.transport;

import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.services.s3.S3Client;

/** Reader over the synchronous client of the SDK. */
record BlockingReader(S3Client client, String bucket) implements ObjectReader {
    @Override
    public long read(String key) {
        return client.getObject(
                        request -> request.bucket(bucket).key(key), ResponseTransformer.toBytes())
                .asByteArrayUnsafe()
                .length;
    }

    @Override
    public void close() {
        client.close();
    }
}
