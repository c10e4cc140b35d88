package dev.granary.cache.support;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/**
 * A value that is created on first access, so that opening a tier does not wait for class loading.
 * Thread-safe.
 */
public final class Lazy<T> {
    private final Supplier<T> supplier;
    private volatile @Nullable T value;

    public Lazy(Supplier<T> supplier) {
        this.supplier = supplier;
    }

    /**
     * Returns the value, creating it if needed. If the supplier throws, the exception is passed on,
     * and the next call tries again.
     */
    public T get() {
        T current = value;
        if (current == null) {
            synchronized (this) {
                current = value;
                if (current == null) {
                    current = supplier.get();
                    value = current;
                }
            }
        }
        return current;
    }

    /** Returns the value, or null if it has not been created. */
    public @Nullable T peek() {
        return value;
    }
}
