package dev.granary.gpu.offline;

/**
 * Thrown if a name stands for no target that the compiler can compile for. The message states the
 * cause for users: an unknown name, a device without support, or another driver version.
 */
public final class UnknownTargetException extends Exception {
    private static final long serialVersionUID = 1L;

    UnknownTargetException(String message) {
        super(message);
    }
}
