package dev.granary.cache.constant;

/**
 * The key of one tensor. Keys are equal if all four parts are equal by {@code equals}, not only by
 * hash. Immutable if its parts are; they must not change while the tensor is cached.
 *
 * @param <B> the back-end's type of a tensor
 * @param type the class of that type
 * @param backend the id of the back-end; equal keys of two back-ends denote two tensors
 * @param context the context in which the tensor can be used; tensors are never shared between
 *     contexts, even on one device
 * @param key the back-end's own key: the complete input of the computation
 */
public record ConstantKey<B extends AutoCloseable>(
        Class<B> type, String backend, Object context, Object key) {}
