package dev.granary.gpu.opencl;

import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCaches;

/**
 * The constant tensors of one engine: buffers such as packed weights, computed once and read by any
 * number of primitives. Thread-safe.
 *
 * <p>Instances for one engine share their tensors if they use the same caches. Engines on one
 * device share its budget but no tensors, since each has its own context. Sub-devices count as
 * their main device, whose memory they use. When the engine closes, its tensors leave the cache,
 * even if in use.
 */
public final class OpenClConstants {
    private static final String BACKEND = "opencl";

    private final OpenClEngine engine;
    private final ConstantTensorCache cache;

    /**
     * Creates the constants of {@code engine}.
     *
     * @throws IllegalStateException if the engine is closed
     */
    public OpenClConstants(ConstantTensorCaches caches, OpenClEngine engine) {
        this.engine = engine;
        this.cache = caches.of(engine.device());
        engine.registerConstants(cache);
    }

    /**
     * Returns the tensor of that key: from the cache, from another thread that is computing it, or
     * from {@code maker}.
     *
     * @param key everything that decides the content, with {@code equals} and {@code hashCode}; it
     *     must not change
     * @param bytes the size of the buffer that {@code maker} returns
     * @param maker fills a new buffer of this engine, which the cache then owns, and closes other
     *     resources that it uses
     * @return the caller's hold on the buffer, which must be closed; the buffer itself must be
     *     neither written nor closed
     * @throws E if the maker threw it, in this thread or in the one that computed the tensor
     * @throws IllegalArgumentException if the maker's buffer belongs to another engine or has
     *     another size
     * @throws IllegalStateException if the engine is closed, or computing the tensor needs the
     *     tensor itself
     */
    public <E extends Exception> ConstantHold<OpenClBuffer> get(
            Object key, long bytes, ConstantTensorCache.Factory<OpenClBuffer, E> maker) throws E {
        ConstantHold<OpenClBuffer> constant =
                cache.get(keyOf(key), bytes, () -> checked(maker.make(), bytes));
        try {
            engine.lifetime().checkOpen();
        } catch (IllegalStateException e) {
            // Closed meanwhile: the tensor entered the cache after the engine's tensors had left.
            constant.close();
            cache.removeContext(engine);
            throw e;
        }
        return constant;
    }

    /**
     * Removes a tensor, computed or promised; existing holds stay valid.
     *
     * @return true if it was present
     */
    public boolean removeIfExist(Object key) {
        return cache.removeIfExist(keyOf(key));
    }

    /** Returns the cache of the device, shared by all its engines. */
    public ConstantTensorCache cache() {
        return cache;
    }

    private ConstantTensorCache.Key<OpenClBuffer> keyOf(Object key) {
        return new ConstantTensorCache.Key<>(OpenClBuffer.class, BACKEND, engine, key);
    }

    private OpenClBuffer checked(OpenClBuffer made, long bytes) {
        if (!made.isOf(engine) || made.byteSize() != bytes) {
            String problem = made.isOf(engine)
                    ? made.byteSize() + " bytes instead of " + bytes
                    : "a buffer of another engine";
            made.close();
            throw new IllegalArgumentException("The maker of a constant returned " + problem);
        }
        return made;
    }
}
