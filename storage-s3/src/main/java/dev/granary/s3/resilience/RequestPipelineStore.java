package dev.granary.s3.resilience;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/** An object store whose requests pass through one pipeline for reads and one for writes. */
public abstract class RequestPipelineStore implements ObjectStore {
    final RequestCounters counters;

    RequestPipelineStore(RequestCounters counters) {
        this.counters = counters;
    }

    /** Sends a read. */
    abstract <R> R read(BucketRequest<R> request);

    /** Sends a write. */
    abstract WriteResult write(BucketRequest<WriteResult> request);

    @Override
    public final GetResult get(String key, long limit) {
        return get(store -> store.get(key, limit));
    }

    @Override
    public final Optional<GetResult> getIfChanged(String key, String etag, long limit) {
        return read(new BucketRequest<>(
                counters.get,
                store -> store.getIfChanged(key, etag, limit),
                result -> result.flatMap(RequestPipelineStore::failure),
                failure -> Optional.of(new GetResult.Unavailable(failure))));
    }

    @Override
    public final GetResult range(String key, long offset, int length, byte[] into) {
        return get(store -> store.range(key, offset, length, into));
    }

    @Override
    public final GetResult range(String key, long offset, int length) {
        return get(store -> store.range(key, offset, length));
    }

    private GetResult get(Function<ObjectStore, GetResult> operation) {
        return read(new BucketRequest<>(
                counters.get,
                operation,
                RequestPipelineStore::failure,
                GetResult.Unavailable::new));
    }

    @Override
    public final HeadResult head(String key) {
        return read(new BucketRequest<HeadResult>(
                counters.head,
                store -> store.head(key),
                RequestPipelineStore::failure,
                HeadResult.Unavailable::new));
    }

    @Override
    public final WriteResult put(String key, byte[] body) {
        return write(counters.put, store -> store.put(key, body));
    }

    @Override
    public final WriteResult putIfAbsent(String key, byte[] body) {
        return write(counters.put, store -> store.putIfAbsent(key, body));
    }

    @Override
    public final WriteResult replaceIfMatch(String key, String etag, byte[] body) {
        return write(counters.put, store -> store.replaceIfMatch(key, etag, body));
    }

    @Override
    public final WriteResult deleteIfMatch(String key, String etag) {
        return write(counters.delete, store -> store.deleteIfMatch(key, etag));
    }

    @Override
    public final WriteResult delete(String key) {
        return write(counters.delete, store -> store.delete(key));
    }

    private WriteResult write(LongAdder counter, Function<ObjectStore, WriteResult> operation) {
        return write(new BucketRequest<>(
                counter, operation, WriteResult::failureOf, WriteResult::failed));
    }

    private static Optional<StoreFailure> failure(GetResult result) {
        return switch (result) {
            case GetResult.Unavailable lost -> Optional.of(lost.failure());
            case GetResult.Found _, GetResult.Absent _, GetResult.TooLarge _ -> Optional.empty();
        };
    }

    private static Optional<StoreFailure> failure(HeadResult result) {
        return switch (result) {
            case HeadResult.Unavailable lost -> Optional.of(lost.failure());
            case HeadResult.Found _, HeadResult.Absent _ -> Optional.empty();
        };
    }
}
