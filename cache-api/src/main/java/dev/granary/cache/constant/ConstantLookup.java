package dev.granary.cache.constant;

/**
 * The outcome of {@link ConstantTensorCache#getOrAdd}.
 *
 * @param <B> the back-end's type of a tensor
 */
public sealed interface ConstantLookup<B extends AutoCloseable> {
    /**
     * The tensor was cached, or another thread has just completed it.
     *
     * @param constant the caller's hold on it, to be closed
     */
    record Hit<B extends AutoCloseable>(ConstantHold<B> constant) implements ConstantLookup<B> {}

    /**
     * The caller has to compute the tensor.
     *
     * @param promise the promise to be fulfilled, failed or closed, since others may wait for it
     */
    record Miss<B extends AutoCloseable>(ConstantPromise<B> promise) implements ConstantLookup<B> {}

    /**
     * Another thread, for which this one waited, failed to compute the tensor. Nothing was cached:
     * the next caller computes it.
     *
     * @param cause the failure reported by the other thread
     */
    record Failed<B extends AutoCloseable>(Throwable cause) implements ConstantLookup<B> {}
}
