package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.opencl.binding.StatusCodes;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if an OpenCL call or the execution of a launch fails. The message names the call and the
 * status code.
 */
public final class OpenClException extends DriverException {
    private static final long serialVersionUID = 1L;

    OpenClException(String call, int code) {
        super(call + " failed with " + code + " (" + StatusCodes.name(code) + ")", code);
    }

    private OpenClException(String message, int code, @Nullable OpenClException cause) {
        super(message, code, cause);
    }

    /** Returns the failure of a command that was enqueued without an error. */
    static OpenClException ofExecution(String command, int status) {
        // without a name: drivers choose these numbers
        return new OpenClException(
                command + " failed with execution status " + status, status, null);
    }

    /** Returns an exception for this thread, with this one of another thread as its cause. */
    OpenClException forThisThread() {
        return new OpenClException(String.valueOf(getMessage()), code(), this);
    }
}
