package dev.granary.gpu;

/** Thrown if a call of a GPU driver fails. The message names the call and the status code. */
public class DriverException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int code;

    /**
     * Creates an exception.
     *
     * @param code the status code, as the API of the backend defines it
     */
    public DriverException(String message, int code) {
        super(message);
        this.code = code;
    }

    /** Returns the status code, as the API of the backend defines it. */
    public int code() {
        return code;
    }
}
