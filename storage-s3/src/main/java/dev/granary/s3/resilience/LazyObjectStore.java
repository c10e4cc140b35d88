package dev.granary.s3.resilience;

import dev.granary.cache.support.Lazy;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A transport that is set up at its first use: loading a client library takes most of a second. A failure to set it up is the result of that
 * use; the next one tries again.
 */
final class LazyObjectStore {
    private final Lazy<ObjectStore> transport;
    private volatile boolean closed;

    LazyObjectStore(Supplier<ObjectStore> opener) {
        this.transport = new Lazy<>(() -> {
            if (closed) {
                throw new IllegalStateException("closed");
            }
            ObjectStore opened = opener.get();
            if (closed) { // meanwhile: nobody else would close it
                opened.close();
                throw new IllegalStateException("closed");
            }
            return opened;
        });
    }

    <R> R call(Function<ObjectStore, R> request, Function<StoreFailure, R> failed) {
        ObjectStore store;
        try {
            store = transport.get();
        } catch (RuntimeException e) { // whatever a client library finds wrong with its surroundings
            return failed.apply(StoreFailure.of(StoreFailure.Kind.CONFIGURATION, String.valueOf(e.getMessage())));
        }
        return request.apply(store);
    }

    /** Closes the transport, or keeps it from being opened. */
    void close() {
        closed = true;
        ObjectStore opened = transport.peek();
        if (opened != null) {
            opened.close();
        }
    }
}
