package dev.granary.gpu.offline;

/** Thrown if a name means no target that a compiler supports. The message lists those it does. */
public final class UnknownTargetException extends Exception {
    private static final long serialVersionUID = 1L;

    UnknownTargetException(String message) {
        super(message);
    }
}
