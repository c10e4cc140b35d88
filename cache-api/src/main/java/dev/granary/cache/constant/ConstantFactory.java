package dev.granary.cache.constant;

/**
 * A factory of a tensor that is not cached.
 *
 * @param <B> the back-end's type of a tensor
 * @param <E> the exception that it may throw
 */
@FunctionalInterface
public interface ConstantFactory<B, E extends Exception> {
    /**
     * Creates the tensor, not null. The cache takes ownership of its memory and closes it after its
     * last user.
     */
    B make() throws E;
}
