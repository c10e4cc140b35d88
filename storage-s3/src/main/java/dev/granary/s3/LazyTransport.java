package dev.granary.s3;

import dev.granary.s3.store.Failure;
import dev.granary.s3.store.ObjectStore;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A transport that is set up at its first use: loading a client library takes most of a second. A failure to set it up is the result of that
 * use; the next one tries again.
 */
final class LazyTransport {
    private final Lazily<ObjectStore> transport;
    private volatile boolean closed;

    LazyTransport(Supplier<ObjectStore> opener) {
        this.transport = new Lazily<>(() -> {
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

    <R> R call(Function<ObjectStore, R> request, Function<Failure, R> failed) {
        ObjectStore store;
        try {
            store = transport.get();
        } catch (RuntimeException e) { // whatever a client library finds wrong with its surroundings
            return failed.apply(Failure.of(Failure.Kind.CONFIGURATION, String.valueOf(e.getMessage())));
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
