package dev.granary.gpu.binary;

/** Thrown inside this package if bytes contradict the format that they begin with. */
final class MalformedContainerException extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedContainerException(String reason) {
        super(reason, null, false, false); // no stack: it is a result, and damaged input is cheap
    }
}
