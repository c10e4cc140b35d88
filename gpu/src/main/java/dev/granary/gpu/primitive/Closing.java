package dev.granary.gpu.primitive;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Closes several things, all of them, whatever fails. */
final class Closing {
    private Closing() {}

    /** A thing whose closing throws nothing checked. */
    @FunctionalInterface
    interface Closeable {
        void close();
    }

    /** Closes each; the first failure is thrown when all are done. */
    static void all(Collection<? extends Closeable> things) {
        RuntimeException first = null;
        for (Closeable thing : things) {
            first = closed(thing, first);
        }
        if (first != null) {
            throw first;
        }
    }

    /** Closes what was made before {@code failure}, which stays the one that is thrown. */
    static void after(Throwable failure, Closeable thing) {
        try {
            thing.close();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private static @Nullable RuntimeException closed(Closeable thing, @Nullable RuntimeException first) {
        try {
            thing.close();
            return first;
        } catch (RuntimeException e) {
            if (first == null) {
                return e;
            }
            first.addSuppressed(e);
            return first;
        }
    }
}
