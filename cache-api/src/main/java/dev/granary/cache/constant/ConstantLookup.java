package dev.granary.cache.constant;

/**
 * What {@link ConstantTensorCache#getOrAdd} came to.
 *
 * @param <B> what the back-end keeps a tensor in
 */
public sealed interface ConstantLookup<B extends AutoCloseable> {
    /**
     * The tensor is there: it was cached, or another thread has just made it.
     *
     * @param constant the caller's hold on it, to be closed
     */
    record Hit<B extends AutoCloseable>(ConstantHold<B> constant) implements ConstantLookup<B> {}

    /**
     * The caller has to make the tensor.
     *
     * @param promise to be fulfilled, failed or closed, since others may wait for it
     */
    record Miss<B extends AutoCloseable>(ConstantPromise<B> promise) implements ConstantLookup<B> {}

    /**
     * Another thread, for which this one waited, could not make the tensor. Nothing was kept: who asks next makes it.
     *
     * @param cause what the other thread said
     */
    record Failed<B extends AutoCloseable>(Throwable cause) implements ConstantLookup<B> {}
}
