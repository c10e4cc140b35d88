package dev.granary.cli.manifest;

import java.nio.file.Path;
import java.util.List;

/**
 * A list of kernel programs, read from a TOML file. Each {@code [[kernel]]} table has {@code name}
 * and {@code source}, and optionally {@code include}, {@code options}, {@code define},
 * {@code entry}, {@code geometry}, {@code launch}, {@code tag} and {@code extra-digest}. Paths are
 * relative to the manifest, including those of {@code -I} options. A {@code [[recorded]]} table has
 * the kernel of a recording.
 *
 * <p>A table may stand for many programs: one for each file that a pattern in {@code source}
 * matches, and one for each combination of the values in {@code define}. The table {@code defaults}
 * has keys that the programs of the same file inherit, and {@code include-manifests} adds the
 * programs of other files.
 *
 * @param kernels the programs: those of included manifests first, else in the file's order; at
 *     least one
 */
public record KernelManifest(List<KernelSpec> kernels) {
    /** Copies the list. */
    public KernelManifest {
        kernels = List.copyOf(kernels);
    }

    /**
     * Reads and checks a manifest with all manifests that it includes. It does not check that the
     * sources exist: a missing source is a failure of its kernel, not of the manifest. A pattern
     * that matches no file is an error.
     *
     * @throws KernelManifestException if the file cannot be read or is not a manifest
     */
    public static KernelManifest read(Path file) throws KernelManifestException {
        return new KernelManifest(new KernelManifestReader().read(file));
    }
}
