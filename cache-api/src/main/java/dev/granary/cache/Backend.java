package dev.granary.cache;

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;

/**
 * A family of GPU APIs with its own binary format. Each backend has its own namespace in every
 * store.
 *
 * <p>{@link #reads} is the table of the namespaces that an engine may read. It is a rule of
 * Granary: drivers do not enforce it, and those of Intel accept the binaries of both backends.
 *
 * <p>The {@link #path()} names appear in stored ids and in bucket keys and therefore never change.
 */
public enum Backend {
    /** OpenCL: binaries as returned by {@code clGetProgramInfo(CL_PROGRAM_BINARIES)}. */
    OPENCL("opencl"),
    /** Level Zero: native modules as returned by {@code zeModuleGetNativeBinary}. */
    LEVEL_ZERO("level-zero", OPENCL);

    private final String path;
    private final Set<Backend> otherReadable;

    Backend(String path, Backend... otherReadable) {
        this.path = path;
        this.otherReadable = Set.of(otherReadable);
    }

    /** Returns the name of this backend in stored ids, directories and bucket keys. */
    public String path() {
        return path;
    }

    /**
     * Returns true if engines of this backend may read entries of {@code producer}: those of the
     * same backend, and for Level Zero those of OpenCL.
     */
    public boolean reads(Backend producer) {
        return producer == this || otherReadable.contains(producer);
    }

    /**
     * Returns the backend with this {@link #path()} name, or empty if this version of Granary does
     * not support it.
     */
    public static Optional<Backend> ofPath(String path) {
        return Arrays.stream(values()).filter(b -> b.path.equals(path)).findFirst();
    }
}
