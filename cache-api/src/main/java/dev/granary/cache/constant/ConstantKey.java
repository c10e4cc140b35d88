package dev.granary.cache.constant;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
public record ConstantKey<B extends AutoCloseable>(Class<B> type, String backend, Object context, Object key) {
    /*
     * Written out, since the JVM makes those of a record at their first call, which a look-up at the end of a stack may be: then making them
     * fails, and fails at each later call as well, for the life of the process.
     */

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other || (other instanceof ConstantKey<?> that && Objects.equals(key, that.key) && Objects.equals(context, that.context)
                && Objects.equals(type, that.type) && Objects.equals(backend, that.backend));
    }

    @Override
    public int hashCode() {
        return ((Objects.hashCode(type) * 31 + Objects.hashCode(backend)) * 31 + Objects.hashCode(context)) * 31 + Objects.hashCode(key);
    }
}
