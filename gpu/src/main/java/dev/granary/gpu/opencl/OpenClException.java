package dev.granary.gpu.opencl;

/** An OpenCL call failed. The message names the call and the code. */
public final class OpenClException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int code;

    OpenClException(String call, int code) {
        super(call + " failed with " + code + " (" + StatusCodes.name(code) + ")");
        this.code = code;
    }

    /** The status code, as {@code cl.h} has it. */
    public int code() {
        return code;
    }
}
