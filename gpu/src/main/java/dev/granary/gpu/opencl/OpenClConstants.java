package dev.granary.gpu.opencl;

import dev.granary.cache.constant.ConstantFactory;
import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantKey;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCaches;

/**
 * The constant tensors of one engine: buffers that are prepared once (packed weights, folded scales) and read by any number of primitives.
 * Thread-safe.
 *
 * <p>Several of these for one engine share their tensors, if they are made over the same caches. Engines on one device share its budget, and no
 * tensors: each has a context of its own. Sub-devices count as their main device, whose memory they use. When the engine is closed its tensors
 * leave the cache, used or not: nobody can use them any more.
 */
public final class OpenClConstants {
    private static final String BACKEND = "opencl";

    private final OpenClEngine engine;
    private final ConstantTensorCache cache;

    /**
     * The constants of {@code engine}.
     *
     * @throws IllegalStateException if the engine is closed
     */
    public OpenClConstants(ConstantTensorCaches caches, OpenClEngine engine) {
        this.engine = engine;
        this.cache = caches.of(engine.device().kind(), engine.device().index());
        engine.keepsConstantsIn(cache);
    }

    /**
     * The tensor of that key: from the cache, from another thread that is making it, or from {@code maker}.
     *
     * @param key everything that decides what is computed, with equality; it must not change
     * @param bytes the size of the buffer that {@code maker} makes
     * @param maker fills a new buffer of this engine, which the cache takes over, and closes what else it uses
     * @return the caller's hold on the buffer, which must be closed; the buffer itself must not be written nor closed
     * @throws E what the maker threw, in this thread or in the one that made
     * @throws IllegalArgumentException if the maker's buffer is another engine's or of another size
     * @throws IllegalStateException if the engine is closed, or if making the tensor turns out to need the tensor itself
     */
    public <E extends Exception> ConstantHold<OpenClBuffer> get(Object key, long bytes, ConstantFactory<OpenClBuffer, E> maker) throws E {
        ConstantHold<OpenClBuffer> constant = cache.get(keyOf(key), bytes, () -> checked(maker.make(), bytes));
        try {
            engine.use().close();
        } catch (IllegalStateException e) {
            // Closed while this was made: then it came into the cache after the engine's tensors had left.
            constant.close();
            cache.removeContext(engine);
            throw e;
        }
        return constant;
    }

    /**
     * Removes a tensor, made or promised; who uses it keeps it.
     *
     * @return true if it was there
     */
    public boolean removeIfExist(Object key) {
        return cache.removeIfExist(keyOf(key));
    }

    /** The cache of the device, of all engines together. */
    public ConstantTensorCache cache() {
        return cache;
    }

    private ConstantKey<OpenClBuffer> keyOf(Object key) {
        return new ConstantKey<>(OpenClBuffer.class, BACKEND, engine, key);
    }

    private OpenClBuffer checked(OpenClBuffer made, long bytes) {
        if (!made.isOf(engine) || made.byteSize() != bytes) {
            String problem = made.isOf(engine) ? made.byteSize() + " bytes instead of " + bytes : "a buffer of another engine";
            made.close();
            throw new IllegalArgumentException("The maker of a constant returned " + problem);
        }
        return made;
    }
}
