package dev.granary.cli.manifest;

import dev.granary.gpu.Launch;

import java.nio.file.Path;
import java.util.List;

/**
 * The table {@code defaults} of a manifest: values that each program of the same file inherits.
 * Lists are extended, and other values replaced, by those of a program.
 *
 * @param includeDirectories directories that are searched after those of the program
 * @param options build options before those of the program
 * @param macros macros that the program may give other values
 * @param geometry the launch of every kernel, for programs without {@code geometry} and
 *     {@code launch}
 * @param tag the tag of programs without one
 * @param extraDigest the digest of programs without one
 */
record KernelDefaults(
        List<Path> includeDirectories,
        List<String> options,
        MacroMatrix macros,
        List<Launch> geometry,
        String tag,
        String extraDigest) {
    static final KernelDefaults NONE =
            new KernelDefaults(List.of(), List.of(), MacroMatrix.NONE, List.of(), "", "");

    /** Copies the lists. */
    KernelDefaults {
        includeDirectories = List.copyOf(includeDirectories);
        options = List.copyOf(options);
        geometry = List.copyOf(geometry);
    }
}
