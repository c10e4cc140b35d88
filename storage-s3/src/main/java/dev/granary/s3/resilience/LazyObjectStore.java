package dev.granary.s3.resilience;

import dev.granary.cache.support.Lazy;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A transport created at its first use: loading a client library takes most of 1 s. A failure to
 * create it is the result of that use; the next use retries.
 */
final class LazyObjectStore {
    private final Lazy<ObjectStore> transport;
    private volatile boolean closed;

    LazyObjectStore(Supplier<ObjectStore> opener) {
        this.transport = new Lazy<>(() -> {
            if (closed) {
                throw new IllegalStateException("closed");
            }
            return opener.get();
        });
    }

    <R> R call(Function<ObjectStore, R> request, Function<StoreFailure, R> failed) {
        ObjectStore store;
        try {
            store = transport.get();
        } catch (RuntimeException e) { // any problem of a client library with its environment
            return failed.apply(StoreFailure.of(
                    StoreFailure.Kind.CONFIGURATION, String.valueOf(e.getMessage())));
        }
        if (closed) { // perhaps while it was created, so that close() did not see it
            store.close();
            return failed.apply(StoreFailure.of(StoreFailure.Kind.CONFIGURATION, "closed"));
        }
        return request.apply(store);
    }

    /** Closes the transport, or prevents its creation. */
    void close() {
        closed = true;
        ObjectStore opened = transport.peek();
        if (opened != null) {
            opened.close();
        }
    }
}
