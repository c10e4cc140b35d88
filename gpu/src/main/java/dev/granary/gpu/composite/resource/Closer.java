package dev.granary.gpu.composite.resource;

import org.jspecify.annotations.Nullable;

import java.util.Collection;

/** Utility that closes several objects, even if some fail to close. */
public final class Closer {
    private Closer() {}

    /** An object whose {@code close} declares no checked exception. */
    @FunctionalInterface
    public interface Closeable {
        void close();
    }

    /** Closes each; throws the first failure after all were closed. */
    public static void closeAll(Collection<? extends Closeable> closeables) {
        Throwable first = null;
        for (Closeable closeable : closeables) {
            first = closeOne(closeable, first);
        }
        switch (first) {
            case null -> {}
            case Error e -> throw e;
            case RuntimeException e -> throw e;
            default ->
                throw new IllegalStateException(
                        "A checked exception was thrown where none is declared", first);
        }
    }

    /** Closes an object after {@code failure}; a failure to close is added to it as suppressed. */
    public static void closeAfter(Throwable failure, Closeable closeable) {
        try {
            closeable.close();
        } catch (Throwable e) {
            if (e != failure) {
                failure.addSuppressed(e);
            }
        }
    }

    private static @Nullable Throwable closeOne(Closeable closeable, @Nullable Throwable first) {
        try {
            closeable.close();
            return first;
        } catch (Throwable e) { // errors too, so that the others are closed
            if (first == null) {
                return e;
            }
            if (e != first) {
                first.addSuppressed(e);
            }
            return first;
        }
    }
}
