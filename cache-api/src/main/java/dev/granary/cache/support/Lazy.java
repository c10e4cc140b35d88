package dev.granary.cache.support;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A value that is made when somebody first asks for it: opening a tier must not wait for class loading. Thread-safe. */
public final class Lazy<T> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Supplier<T> maker;
    private volatile @Nullable T made;

    public Lazy(Supplier<T> maker) {
        this.maker = maker;
    }

    /** The value; made by this call if need be. What the maker throws comes through, and the next call tries again. */
    public T get() {
        T known = made;
        if (known != null) {
            return known;
        }
        lock.lock();
        try {
            known = made;
            if (known == null) {
                known = maker.get();
                made = known;
            }
            return known;
        } finally {
            lock.unlock();
        }
    }

    /** The value, or null where nobody has asked for it. */
    public @Nullable T peek() {
        return made;
    }
}
