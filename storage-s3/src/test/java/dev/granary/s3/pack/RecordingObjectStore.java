package dev.granary.s3.pack;

import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.WriteResult;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * An object store in memory that records its requests, such as {@code GET head}, {@code GET base},
 * {@code RANGE pack}, {@code GET entry}. A hook may run before each request. Thread-safe.
 */
public final class RecordingObjectStore extends MemoryObjectStore {
    private final List<String> requests = new ArrayList<>();
    private volatile Runnable beforeEach = () -> {};
    private long longestRange;

    /** Returns the requests so far with the names of their objects, in order. */
    public List<String> namedRequests() {
        synchronized (requests) {
            return List.copyOf(requests);
        }
    }

    /** Returns the requests since the last call of this method. */
    public List<String> newRequests() {
        synchronized (requests) {
            List<String> all = List.copyOf(requests);
            requests.clear();
            return all;
        }
    }

    /** Sets a hook that runs before each request from now on. */
    public void beforeEach(Runnable hook) {
        beforeEach = hook;
    }

    /** Returns the length of the longest requested range in bytes. */
    public long longestRange() {
        synchronized (requests) {
            return longestRange;
        }
    }

    private void record(String method, String key) {
        String name = key.substring(key.lastIndexOf('/') + 1);
        String object = name.isEmpty()
                ? key.substring(key.lastIndexOf('/', key.length() - 2) + 1)
                : key.contains("/m/")
                        ? "base"
                        : key.contains("/p/") ? "pack" : key.contains("/e/") ? "entry" : name;
        synchronized (requests) {
            requests.add(method + " " + object);
        }
        beforeEach.run();
    }

    @Override
    public GetResult get(String key, long limit) {
        record("GET", key);
        return super.get(key, limit);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        synchronized (requests) {
            longestRange = Math.max(longestRange, length);
        }
        record("RANGE", key);
        return super.range(key, offset, length, into);
    }

    @Override
    public synchronized HeadResult head(String key) {
        record("HEAD", key);
        return super.head(key);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        record("PUT", key);
        return super.putIfAbsent(key, body);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        record("REPLACE", key);
        return super.replaceIfMatch(key, etag, body);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        record("DELETE", key);
        return super.deleteIfMatch(key, etag);
    }

    @Override
    public WriteResult delete(String key) {
        record("DELETE", key);
        return super.delete(key);
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        record("LIST", prefix);
        return super.list(prefix, visitor);
    }
}
