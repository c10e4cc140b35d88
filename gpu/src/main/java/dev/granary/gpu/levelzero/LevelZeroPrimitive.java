package dev.granary.gpu.levelzero;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.gpu.KernelDescriptor;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;

/**
 * A compiled program of kernels. Thread-safe.
 *
 * <p>It holds binaries and no native objects: a module is complete when it is built, so its binary
 * is taken at once. {@link LevelZeroEngine#load} makes its kernels ready to launch.
 */
public final class LevelZeroPrimitive implements Primitive {
    private final KernelDescriptor descriptor;
    private final Origin origin;
    private final List<String> kernels;
    private volatile KernelBinaries binaries;
    private final LongAdder compileNanos = new LongAdder();
    private final List<Runnable> compiledAgainActions = new CopyOnWriteArrayList<>();

    LevelZeroPrimitive(
            KernelDescriptor descriptor,
            Origin origin,
            List<String> kernels,
            KernelBinaries binaries,
            Duration compileTime) {
        this.descriptor = descriptor;
        this.origin = origin;
        this.kernels = kernels;
        this.binaries = binaries;
        this.compileNanos.add(compileTime.toNanos());
    }

    @Override
    public KernelDescriptor descriptor() {
        return descriptor;
    }

    @Override
    public Origin origin() {
        return origin;
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind != BinaryKind.KERNEL || descriptor.getId().isEmpty()
                ? KernelBinaries.none()
                : binaries;
    }

    /**
     * Returns the binaries for other engines of this process. They need no id, since within a
     * process the descriptor is the key. None if the driver provides none.
     */
    KernelBinaries binariesForEngines() {
        return binaries;
    }

    @Override
    public Duration compileTime() {
        return Duration.ofNanos(compileNanos.sum());
    }

    @Override
    public List<String> kernels() {
        return kernels;
    }

    /** Returns none: a driver of Level Zero compiles for every geometry. */
    @Override
    public List<String> geometries() {
        return List.of();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        action.run();
    }

    @Override
    public void onCompiledAgain(Runnable action) {
        compiledAgainActions.add(action);
    }

    /** Records that an engine has compiled this primitive again, and takes the new binaries. */
    void compiledAgain(KernelBinaries made, Duration took) {
        if (!made.isEmpty()) {
            binaries = made;
        }
        compileNanos.add(took.toNanos());
        compiledAgainActions.forEach(Runnable::run);
    }

    @Override
    public String toString() {
        return descriptor + ", " + origin;
    }
}
