package dev.granary.cache.constant;

/**
 * Makes a tensor that is not cached.
 *
 * @param <B> what the back-end keeps a tensor in
 * @param <E> how it fails
 */
@FunctionalInterface
public interface ConstantFactory<B, E extends Exception> {
    /** The tensor, not null, whose memory the cache takes over: it is closed when its last user lets go. */
    B make() throws E;
}
