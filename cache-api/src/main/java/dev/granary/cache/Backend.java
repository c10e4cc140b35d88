package dev.granary.cache;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A family of GPU APIs with its own binary format. Each backend has its own namespace in every
 * store. Programs with engines of their own add others to the two that Granary has.
 *
 * @param path the name in stored ids, directories and bucket keys, such as {@code cuda}: 1 to 30
 *     lower-case letters, digits and dashes, the first a letter. It never changes
 */
public record Backend(String path) {
    private static final Pattern PATH = Pattern.compile("[a-z][a-z0-9-]{0,29}");

    /** OpenCL: binaries as returned by {@code clGetProgramInfo(CL_PROGRAM_BINARIES)}. */
    public static final Backend OPENCL = new Backend("opencl");

    /** Level Zero: native modules as returned by {@code zeModuleGetNativeBinary}. */
    public static final Backend LEVEL_ZERO = new Backend("level-zero");

    /** The backends whose engines Granary has. */
    public static final List<Backend> OWN = List.of(OPENCL, LEVEL_ZERO);

    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it has another form
     */
    public Backend {
        if (!PATH.matcher(path).matches()) {
            throw new IllegalArgumentException("The name of a backend has 1 to 30 lower-case"
                    + " letters, digits and dashes, and begins with a letter: " + path);
        }
    }

    /**
     * Returns true if engines of this backend may read entries of {@code producer}: those of the
     * same backend, and for Level Zero those of OpenCL. This is a rule of Granary: drivers do not
     * enforce it, and those of Intel accept the binaries of both.
     */
    public boolean reads(Backend producer) {
        return equals(producer) || (equals(LEVEL_ZERO) && producer.equals(OPENCL));
    }

    /** Returns the backend with this name, or empty if the name has another form. */
    public static Optional<Backend> ofPath(String path) {
        return PATH.matcher(path).matches() ? Optional.of(new Backend(path)) : Optional.empty();
    }

    /** Returns the backend with this name, or empty if Granary has no engines of it. */
    public static Optional<Backend> ownOf(String path) {
        return OWN.stream().filter(own -> own.path.equals(path)).findFirst();
    }

    @Override
    public String toString() {
        return path;
    }
}
