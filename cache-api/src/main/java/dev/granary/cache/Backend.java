package dev.granary.cache;

import java.util.Arrays;
import java.util.Optional;

/**
 * A family of GPU APIs with its own binary format. Each backend has its own namespace in every
 * store.
 *
 * <p>The {@link #path()} names appear in stored ids and in bucket keys and therefore never change.
 */
public enum Backend {
    /** OpenCL: binaries as returned by {@code clGetProgramInfo(CL_PROGRAM_BINARIES)}. */
    OPENCL("opencl"),
    /** Level Zero: native modules as returned by {@code zeModuleGetNativeBinary}. */
    LEVEL_ZERO("level-zero");

    private final String path;

    Backend(String path) {
        this.path = path;
    }

    /** Returns the name of this backend in stored ids, directories and bucket keys. */
    public String path() {
        return path;
    }

    /**
     * Returns the backend with this {@link #path()} name, or empty if this version of Granary does
     * not support it.
     */
    public static Optional<Backend> ofPath(String path) {
        return Arrays.stream(values()).filter(b -> b.path.equals(path)).findFirst();
    }
}
