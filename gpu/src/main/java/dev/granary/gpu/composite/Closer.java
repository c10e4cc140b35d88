package dev.granary.gpu.composite;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Closes several things, all of them, whatever fails. */
final class Closer {
    private Closer() {}

    /** A thing whose closing throws nothing checked. */
    @FunctionalInterface
    interface Closeable {
        void close();
    }

    /** Closes each; the first failure is thrown when all are done. */
    static void all(Collection<? extends Closeable> things) {
        Throwable first = null;
        for (Closeable thing : things) {
            first = closed(thing, first);
        }
        switch (first) {
            case null -> {}
            case Error e -> throw e;
            case RuntimeException e -> throw e;
            default -> throw new IllegalStateException("A checked exception was thrown where none is declared", first);
        }
    }

    /** Closes what was made before {@code failure}, which stays the one that is thrown. */
    static void after(Throwable failure, Closeable thing) {
        try {
            thing.close();
        } catch (Throwable e) {
            if (e != failure) {
                failure.addSuppressed(e);
            }
        }
    }

    private static @Nullable Throwable closed(Closeable thing, @Nullable Throwable first) {
        try {
            thing.close();
            return first;
        } catch (Throwable e) { // an error too: the others are to be closed all the same
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
