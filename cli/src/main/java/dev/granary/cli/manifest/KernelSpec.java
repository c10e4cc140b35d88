package dev.granary.cli.manifest;

import dev.granary.gpu.Geometry;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * One kernel program of a manifest.
 *
 * @param name the name in results; unique in its manifest
 * @param source the source file
 * @param includeDirectories the directories to search for included files, in order, after the
 *     including file's own
 * @param options build options, as tokens
 * @param entries the kernels that must exist; empty for all
 * @param geometry the launch that it will be used with, if known
 */
public record KernelSpec(
        String name,
        Path source,
        List<Path> includeDirectories,
        List<String> options,
        List<String> entries,
        Optional<Geometry> geometry) {
    /** Copies the lists. */
    public KernelSpec {
        includeDirectories = List.copyOf(includeDirectories);
        options = List.copyOf(options);
        entries = List.copyOf(entries);
    }
}
