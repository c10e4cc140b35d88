package dev.granary.gpu.opencl.binding;

/**
 * Factory of the exception for a failed call. The exception is a type of the public API, in a
 * package that uses this one.
 */
@FunctionalInterface
public interface CallFailure {
    /**
     * Returns the exception.
     *
     * @param call the name of the call in messages
     * @param status the status code that it returned, which is not {@code CL_SUCCESS}
     */
    RuntimeException of(String call, int status);
}
