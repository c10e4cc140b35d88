package dev.granary.gpu.engine;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * A native program of one engine, as its driver has built it.
 *
 * @param handle the native program, with a reference for the receiver
 * @param kernels the names of the requested kernels
 * @param origin its origin
 * @param binaries its binaries; null if they must be taken from the driver
 */
public record BuiltProgram(
        NativeHandle handle,
        List<String> kernels,
        Primitive.Origin origin,
        @Nullable KernelBinaries binaries) {
    /**
     * Text of Intel's build log after the driver has recompiled the embedded intermediate code,
     * since the binary did not fit.
     */
    public static final String RECOMPILED_MARK = "recompiled-from-ir";
}
