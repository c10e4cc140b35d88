package dev.granary.cli.compiler;

import java.util.List;

/** The response of a compiler process to a request. */
sealed interface CompilerResponse {
    /** The device is open; its target follows. */
    record Opened(String backend, String vendor, String device, String driver)
            implements CompilerResponse {}

    /**
     * A program was compiled or restored.
     *
     * @param origin the name of a {@link dev.granary.cache.Primitive.Origin}
     * @param compileNanos the compile time; 0 if nothing was compiled
     * @param kernels the names of its kernels
     * @param geometries the launches that the binaries cover
     * @param binaries the files with its binaries, in order; none if the driver returned none
     */
    record Built(
            String origin,
            long compileNanos,
            List<String> kernels,
            List<String> geometries,
            List<String> binaries)
            implements CompilerResponse {}

    /** The source does not compile. */
    record CompileFailed(String message, String buildLog) implements CompilerResponse {}

    /** The driver cannot use the binaries. */
    record RestoreRefused(String message, boolean isMissingKernel) implements CompilerResponse {}

    /** The request selects no device, or several, with a message for the user. */
    record Misused(String cause) implements CompilerResponse {}

    /** The request failed for another reason, with a message for the user. */
    record Failed(String cause) implements CompilerResponse {}
}
