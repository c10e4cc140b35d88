package dev.granary.cli.option;

import dev.granary.cache.Backend;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.List;
import java.util.Optional;

/** The option that selects a backend. */
final class BackendOption {
    private static final String AUTO = "auto";

    @Option(
            names = "--backend",
            paramLabel = "BACKEND",
            description = "opencl, level-zero, or auto: OpenCL or, if it has no such device, Level"
                    + " Zero (default: auto)")
    private @Nullable String backend;

    /** Returns the arguments that select the same backend in another process. */
    List<String> arguments() {
        return backend == null ? List.of() : List.of("--backend", backend);
    }

    /**
     * Returns the backend; empty for any.
     *
     * @throws UsageException if there is no such backend
     */
    Optional<Backend> backend() throws UsageException {
        if (backend == null || backend.equals(AUTO)) {
            return Optional.empty();
        }
        Optional<Backend> known = Backend.ofPath(backend);
        if (known.isEmpty()) {
            throw new UsageException(
                    "--backend must be opencl, level-zero or auto, not " + backend);
        }
        return known;
    }
}
