package dev.granary.cache;

import java.util.Arrays;
import java.util.Optional;

/**
 * An API family with a binary format of its own; each has its own namespace in every store.
 *
 * <p>The {@link #path()} names appear in stored ids and in bucket keys and therefore never change.
 */
public enum Backend {
    /** OpenCL: binaries as {@code clGetProgramInfo(CL_PROGRAM_BINARIES)} gives them. */
    OPENCL("opencl"),
    /** Level Zero: native modules as {@code zeModuleGetNativeBinary} gives them. */
    LEVEL_ZERO("level-zero");

    private final String path;

    Backend(String path) {
        this.path = path;
    }

    /** The name of this backend in stored ids, in directories and in bucket keys. */
    public String path() {
        return path;
    }

    /** The backend of that {@link #path()} name, or empty where this version of Granary knows none of that name. */
    public static Optional<Backend> ofPath(String path) {
        return Arrays.stream(values()).filter(b -> b.path.equals(path)).findFirst();
    }
}
