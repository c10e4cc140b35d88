package dev.granary.cache.constant;

/**
 * What one tensor is known by: two keys are the same where all four parts are equal, by {@code equals} and not by a hash alone. Immutable, if
 * its parts are; they must not change while the tensor is cached.
 *
 * @param <B> what the back-end keeps a tensor in
 * @param type the class of that
 * @param backend the back-end's id, so that equal keys of two back-ends are two tensors
 * @param context where the tensor can be used: tensors are shared within one context, and never between two, on one device or not
 * @param key the back-end's own key: everything that decides what is computed
 */
public record ConstantKey<B extends AutoCloseable>(Class<B> type, String backend, Object context, Object key) {}
