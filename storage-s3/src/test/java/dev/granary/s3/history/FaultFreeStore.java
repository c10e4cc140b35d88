package dev.granary.s3.history;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;

/** The bucket without faults, for readers. */
final class FaultFreeStore implements ObjectStore {
    private final Bucket bucket;
    private final boolean mayList;

    FaultFreeStore(Bucket bucket, boolean mayList) {
        this.bucket = bucket;
        this.mayList = mayList;
    }

    @Override
    public GetResult get(String key, long limit) {
        return permitted(bucket.get(bucket.stored(key), 0, Long.MAX_VALUE, limit), mayList);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return into(
                permitted(bucket.get(bucket.stored(key), offset, length, length), mayList), into);
    }

    /** Copies a response into the caller's memory, as a transport does. */
    static GetResult into(GetResult result, byte[] into) {
        if (!(result instanceof GetResult.Found found)) {
            return result;
        }
        int count = (int) Math.min(found.bytes().byteSize(), into.length);
        MemorySegment part = MemorySegment.ofArray(into).asSlice(0, count);
        part.copyFrom(found.bytes().asSlice(0, count));
        return new GetResult.Found(part, found.etag(), found.dates());
    }

    static GetResult permitted(GetResult result, boolean mayList) {
        return result instanceof GetResult.Absent && !mayList
                ? new GetResult.Unavailable(Disturbance.DENIED)
                : result;
    }

    static HeadResult permitted(HeadResult result, boolean mayList) {
        return result instanceof HeadResult.Absent && !mayList
                ? new HeadResult.Unavailable(Disturbance.DENIED)
                : result;
    }

    @Override
    public HeadResult head(String key) {
        return permitted(bucket.head(bucket.stored(key)), mayList);
    }

    @Override
    public WriteResult put(String key, byte[] body) {
        throw new IllegalStateException("a reader writes " + key);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body) {
        throw new IllegalStateException("a reader writes " + key);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        throw new IllegalStateException("a reader writes " + key);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        throw new IllegalStateException("a reader deletes " + key);
    }

    @Override
    public WriteResult delete(String key) {
        throw new IllegalStateException("a reader deletes " + key);
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        if (!mayList) {
            return new ListResult.Unavailable(Disturbance.DENIED);
        }
        List<Listed> listed = Bucket.listed(bucket.objects(), prefix);
        listed.forEach(visitor);
        return new ListResult.Complete(listed.size());
    }

    @Override
    public void close() {
        // holds no resources
    }
}
