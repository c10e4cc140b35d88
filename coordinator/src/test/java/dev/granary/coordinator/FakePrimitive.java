package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A primitive whose binaries are complete at once, or after {@link #launch}. */
public final class FakePrimitive implements Primitive {
    public static final Duration COMPILE_TIME = Duration.ofMillis(700);

    private final FakeDescriptor descriptor;
    private final Origin origin;
    private final KernelBinaries binaries;
    private final Runnable whenTaken;
    private final List<Runnable> actions = new ArrayList<>();
    private boolean isComplete;

    FakePrimitive(
            FakeDescriptor descriptor, Origin origin, KernelBinaries binaries, Runnable whenTaken) {
        this.whenTaken = whenTaken;
        this.descriptor = descriptor;
        this.origin = origin;
        this.binaries = binaries;
    }

    @Override
    public FakeDescriptor descriptor() {
        return descriptor;
    }

    @Override
    public Origin origin() {
        return origin;
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        whenTaken.run();
        return binaries;
    }

    @Override
    public Duration compileTime() {
        return COMPILE_TIME;
    }

    @Override
    public List<String> kernels() {
        return List.of(descriptor.name());
    }

    @Override
    public List<String> geometries() {
        return List.of();
    }

    @Override
    public synchronized void onBinariesComplete(Runnable action) {
        if (descriptor.name().startsWith("listener-breaks")) {
            throw new IllegalStateException("this driver accepts no listeners");
        }
        if (isComplete) {
            action.run();
        } else {
            actions.add(action);
        }
    }

    /** Simulates the first launch: the driver has compiled everything. */
    public synchronized void launch() {
        isComplete = true;
        actions.forEach(Runnable::run);
        actions.clear();
    }
}
