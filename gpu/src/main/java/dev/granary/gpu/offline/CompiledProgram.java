package dev.granary.gpu.offline;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;

import java.time.Duration;
import java.util.List;

/**
 * A program that a compiler without a device, or another process, has compiled or restored. It has
 * complete binaries and is never loaded. Immutable.
 *
 * @param descriptor the descriptor
 * @param origin the origin
 * @param binaries the binaries
 * @param compileTime the compile time; zero if nothing was compiled
 * @param kernels the names of its kernels
 * @param geometries the launches that the binaries cover
 */
public record CompiledProgram(
        KernelDescriptor descriptor,
        Origin origin,
        KernelBinaries binaries,
        Duration compileTime,
        List<String> kernels,
        List<String> geometries)
        implements KernelProgram {
    /** Copies the lists. */
    public CompiledProgram {
        kernels = List.copyOf(kernels);
        geometries = List.copyOf(geometries);
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind != BinaryKind.KERNEL || descriptor.getId().isEmpty()
                ? KernelBinaries.none()
                : binaries;
    }
}
