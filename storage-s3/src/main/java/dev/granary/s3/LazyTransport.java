package dev.granary.s3;

import dev.granary.s3.store.Failure;
import dev.granary.s3.store.ObjectStore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A transport that is set up at its first use: loading a client library takes most of a second, and opening a tier must not. A failure to
 * set it up is the result of that use; the next one tries again.
 */
final class LazyTransport {
    private final ReentrantLock lock = new ReentrantLock();
    private final Supplier<ObjectStore> opener;
    private volatile @Nullable ObjectStore opened;
    private boolean closed;

    LazyTransport(Supplier<ObjectStore> opener) {
        this.opener = opener;
    }

    <R> R call(Function<ObjectStore, R> request, Function<Failure, R> failed) {
        ObjectStore store;
        try {
            store = opened();
        } catch (RuntimeException e) { // whatever a client library finds wrong with its surroundings
            return failed.apply(Failure.of(Failure.Kind.CONFIGURATION, String.valueOf(e.getMessage())));
        }
        return request.apply(store);
    }

    void close() {
        lock.lock();
        try {
            closed = true;
            if (opened != null) {
                opened.close();
            }
        } finally {
            lock.unlock();
        }
    }

    private ObjectStore opened() {
        ObjectStore known = opened;
        if (known != null) {
            return known;
        }
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("closed");
            }
            known = opened;
            if (known == null) {
                known = opener.get();
                opened = known;
            }
            return known;
        } finally {
            lock.unlock();
        }
    }
}
