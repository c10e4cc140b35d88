package dev.granary.gpu.opencl;

/** Thrown if an OpenCL call fails. The message names the call and the status code. */
public final class OpenClException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int code;

    OpenClException(String call, int code) {
        super(call + " failed with " + code + " (" + StatusCodes.name(code) + ")");
        this.code = code;
    }

    /** Returns the status code, as defined in {@code cl.h}. */
    public int code() {
        return code;
    }
}
