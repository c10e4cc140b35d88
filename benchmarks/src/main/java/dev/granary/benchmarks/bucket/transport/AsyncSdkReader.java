package dev.granary.benchmarks.bucket.transport;

import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/** Reader over the asynchronous client of the SDK. It waits for each object, as a lookup does. */
record AsyncSdkReader(S3AsyncClient client, String bucket) implements ObjectReader {
    @Override
    public long read(String key) {
        return client.getObject(
                        request -> request.bucket(bucket).key(key),
                        AsyncResponseTransformer.toBytes())
                .join()
                .asByteArrayUnsafe()
                .length;
    }

    @Override
    public void close() {
        client.close();
    }
}
