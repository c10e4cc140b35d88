package dev.granary.cli.manifest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Index of recorded kernels by what is compiled. Recordings name files after their content, so
 * files of one name are compared byte by byte: people may have edited one. Not thread-safe.
 */
final class RecordedKernels {
    private final Map<List<Object>, Integer> positions = new HashMap<>();

    /**
     * Returns the position of an equal kernel in {@code kernels}; empty if there is none, which
     * adds the kernel with the next position.
     */
    Optional<Integer> position(KernelSpec kernel, List<KernelSpec> kernels) {
        Integer position = positions.putIfAbsent(inputs(kernel), kernels.size());
        return Optional.ofNullable(position)
                .filter(equal -> isSameContent(files(kernels.get(equal)), files(kernel)));
    }

    private static List<Object> inputs(KernelSpec kernel) {
        RecordedInputs inputs = kernel.recorded().orElseThrow();
        return List.of(
                files(kernel).stream().map(Path::getFileName).toList(),
                List.copyOf(inputs.headers().keySet()),
                inputs.includeDirectories(),
                inputs.isEveryFileListed(),
                kernel.options(),
                kernel.launches(),
                kernel.tag(),
                kernel.extraDigest());
    }

    private static List<Path> files(KernelSpec kernel) {
        List<Path> files = new ArrayList<>(kernel.sources());
        files.addAll(kernel.recorded().orElseThrow().headers().values());
        return files;
    }

    private static boolean isSameContent(List<Path> some, List<Path> others) {
        for (int i = 0; i < some.size(); i++) {
            try {
                if (!Files.isRegularFile(some.get(i)) // opening a pipe blocks
                        || !Files.isRegularFile(others.get(i))
                        || Files.mismatch(some.get(i), others.get(i)) >= 0) {
                    return false;
                }
            } catch (IOException e) {
                return false; // the kernel that cannot be read reports it
            }
        }
        return true;
    }
}
