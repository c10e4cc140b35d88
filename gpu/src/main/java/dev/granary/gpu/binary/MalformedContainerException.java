package dev.granary.gpu.binary;

/**
 * Thrown inside this package if bytes begin as a container of a format and then violate that
 * format.
 */
final class MalformedContainerException extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedContainerException(String reason) {
        super(reason, null, false, false); // no stack trace, so that damaged input costs little
    }
}
