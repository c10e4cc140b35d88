package dev.granary.cli.manifest;

import dev.granary.gpu.Geometry;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * One kernel program of a manifest.
 *
 * @param name how results call it; unique in its manifest
 * @param source the source file
 * @param includeDirectories where included files are looked for, in order, after the directory of the including file
 * @param options build options, as tokens
 * @param entries kernels that must exist; none means all
 * @param geometry the launch that it will be used with, where it is known
 */
public record KernelSpec(
        String name, Path source, List<Path> includeDirectories, List<String> options, List<String> entries, Optional<Geometry> geometry) {
    /** Copies the lists. */
    public KernelSpec {
        includeDirectories = List.copyOf(includeDirectories);
        options = List.copyOf(options);
        entries = List.copyOf(entries);
    }
}
