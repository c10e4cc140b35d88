package dev.granary.cli.compiler;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.gpu.KernelDescriptor;

import java.time.Duration;
import java.util.List;

/**
 * A program that a compiler process has compiled or restored. It has complete binaries and is never
 * loaded. Immutable.
 */
public final class TransferredPrimitive implements Primitive {
    private final KernelDescriptor descriptor;
    private final CompilerResponse.Built built;
    private final KernelBinaries binaries;

    TransferredPrimitive(
            KernelDescriptor descriptor, CompilerResponse.Built built, KernelBinaries binaries) {
        this.descriptor = descriptor;
        this.built = built;
        this.binaries = binaries;
    }

    @Override
    public KernelDescriptor descriptor() {
        return descriptor;
    }

    @Override
    public Origin origin() {
        return Origin.valueOf(built.origin());
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind != BinaryKind.KERNEL || descriptor.getId().isEmpty()
                ? KernelBinaries.none()
                : binaries;
    }

    @Override
    public Duration compileTime() {
        return Duration.ofNanos(built.compileNanos());
    }

    @Override
    public List<String> kernels() {
        return built.kernels();
    }

    @Override
    public List<String> geometries() {
        return built.geometries();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        action.run();
    }
}
