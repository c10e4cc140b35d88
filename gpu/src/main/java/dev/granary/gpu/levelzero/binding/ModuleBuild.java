package dev.granary.gpu.levelzero.binding;

import dev.granary.gpu.DriverException;

/** The outcome of building a module. */
public sealed interface ModuleBuild {
    /** Returns the build log; may be empty. */
    String log();

    /**
     * The module was built.
     *
     * @param module its handle, which the caller owns
     */
    record Built(long module, String log) implements ModuleBuild {}

    /**
     * The driver has refused the input.
     *
     * @param failure the call and its status
     */
    record Refused(DriverException failure, String log) implements ModuleBuild {}
}
