package dev.granary.benchmarks.bucket.transport;

import dev.granary.cache.format.EntryFormat;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;

/** Reader over one of the transports of the bucket tier. */
record StoreReader(ObjectStore store) implements ObjectReader {
    @Override
    public long read(String key) throws IOException {
        GetResult result = store.get(key, EntryFormat.MAX_BYTES);
        if (result instanceof GetResult.Found found) {
            return found.bytes().byteSize();
        }
        throw new IOException(key + ": " + result);
    }

    @Override
    public void close() {
        store.close();
    }
}
