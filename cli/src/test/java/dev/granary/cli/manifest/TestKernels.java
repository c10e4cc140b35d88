package dev.granary.cli.manifest;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Kernels of manifests for tests. */
public final class TestKernels {
    private TestKernels() {}

    /** Returns a kernel of one source, without other inputs. */
    public static KernelSpec of(String name, Path source) {
        return new KernelSpec(
                name,
                "",
                List.of(source),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                "",
                "",
                Optional.empty());
    }
}
