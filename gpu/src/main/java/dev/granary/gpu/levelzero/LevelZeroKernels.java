package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.levelzero.binding.GroupShape;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The kernels of a primitive in one Level Zero engine, ready to launch. Obtained from
 * {@link LevelZeroEngine#load}, and released by {@link #close()} or with the engine. Not
 * thread-safe: arguments are state of a kernel.
 */
public final class LevelZeroKernels implements LoadedKernels {
    private final LevelZeroEngine engine;
    private final LevelZeroPrimitive primitive;
    private final NativeModule module;
    private final Map<String, NativeKernel> kernels = new HashMap<>();
    private final Set<String> launchedKernels = new HashSet<>();
    private long firstLaunchNanos;
    private boolean isClosed;

    /** Takes ownership of the module. */
    LevelZeroKernels(LevelZeroEngine engine, LevelZeroPrimitive primitive, NativeModule module) {
        this.engine = engine;
        this.primitive = primitive;
        this.module = module;
    }

    @Override
    public void createKernels() {
        checkOpen();
        try (var _ = engine.context().lease()) {
            primitive.kernels().forEach(this::kernel);
        }
    }

    @Override
    public void launch(String kernel, Geometry geometry, Object... arguments) {
        checkOpen();
        long start = System.nanoTime();
        try (var _ = engine.context().lease();
                Closer held = new Closer()) {
            NativeKernel launched = kernel(kernel);
            GroupShape groups = launched.prepare(engine, geometry, arguments, held);
            engine.commands().run((list, event) -> engine.context()
                    .calls()
                    .commands()
                    .appendLaunch(list, launched.handle().get(), groups, event));
        }
        if (launchedKernels.add(kernel)) {
            firstLaunchNanos += System.nanoTime() - start;
        }
    }

    @Override
    public Duration firstLaunchTime() {
        return Duration.ofNanos(firstLaunchNanos);
    }

    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            try (Closer releases = new Closer()) {
                releases.add(module.handle()::release);
                kernels.values().forEach(kernel -> releases.add(kernel.handle()::release));
            }
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The kernels are closed");
        }
    }

    private NativeKernel kernel(String name) {
        return kernels.computeIfAbsent(
                name, absent -> NativeKernel.create(engine.context(), module, absent));
    }
}
