package dev.granary.s3.pack;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.util.function.Consumer;

/**
 * An object store that forwards every request, for tests that override one method. Thread-safe if
 * its delegate is.
 */
public class ForwardingStore implements ObjectStore {
    private final ObjectStore to;

    public ForwardingStore(ObjectStore to) {
        this.to = to;
    }

    @Override
    public GetResult get(String key, long limit) {
        return to.get(key, limit);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return to.range(key, offset, length, into);
    }

    @Override
    public HeadResult head(String key) {
        return to.head(key);
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        return to.put(key, body);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        return to.putIfAbsent(key, body);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return to.replaceIfMatch(key, etag, body);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return to.deleteIfMatch(key, etag);
    }

    @Override
    public WriteResult delete(String key) {
        return to.delete(key);
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        return to.list(prefix, visitor);
    }

    @Override
    public void close() {
        // the delegate belongs to the caller
    }
}
