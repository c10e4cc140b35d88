package dev.granary.s3;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.util.function.Consumer;

/** A {@link ResilientStore} whose reads share one deadline: what several requests of one look-up take in all. */
record OneDeadline(ResilientStore store, long start) implements ObjectStore {
    @Override
    public GetResult get(String key, long limit) {
        return store.get(key, limit, start);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return store.range(key, offset, length, into, start);
    }

    @Override
    public HeadResult head(String key) {
        return store.head(key, start);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body, Marks marks) {
        return store.putIfAbsent(key, body, marks);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body, Marks marks) {
        return store.replaceIfMatch(key, etag, body, marks);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return store.deleteIfMatch(key, etag);
    }

    @Override
    public WriteResult delete(String key) {
        return store.delete(key);
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        return store.list(prefix, visitor);
    }

    @Override
    public void close() {
        // it is the tier's
    }
}
