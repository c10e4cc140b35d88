package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.testing.TestTicker;

import java.time.Duration;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;

/** An engine whose launches take given times by a clock, and compute as usual. */
final class ClockedEngine implements KernelEngine {
    private final OpenClEngine engine;
    private final TestTicker clock;
    private final Map<Id, Duration> times;
    private final IdentityHashMap<KernelProgram, Duration> created = new IdentityHashMap<>();

    ClockedEngine(OpenClEngine engine, TestTicker clock, Map<Id, Duration> times) {
        this.engine = engine;
        this.clock = clock;
        this.times = times;
    }

    private record ClockedKernels(LoadedKernels kernels, TestTicker clock, Duration time)
            implements LoadedKernels {
        @Override
        public void createKernels() {
            kernels.createKernels();
        }

        @Override
        public void launch(String kernel, Geometry geometry, Object... arguments) {
            kernels.launch(kernel, geometry, arguments);
            clock.pass(time);
        }

        @Override
        public Duration firstLaunchTime() {
            return kernels.firstLaunchTime();
        }

        @Override
        public void close() {
            kernels.close();
        }
    }

    @Override
    public Target target() {
        return engine.target();
    }

    @Override
    public KernelProgram create(KernelDescriptor descriptor) throws CompileException {
        KernelProgram primitive = engine.create(descriptor);
        created.put(primitive, Objects.requireNonNull(times.get(descriptor.getId())));
        return primitive;
    }

    @Override
    public KernelProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        return engine.create(descriptor, binaries, kind);
    }

    @Override
    public LoadedKernels load(KernelProgram primitive) throws RestoreException {
        return new ClockedKernels(
                engine.load(primitive), clock, Objects.requireNonNull(created.get(primitive)));
    }

    @Override
    public DeviceBuffer buffer(long bytes) {
        return engine.buffer(bytes);
    }

    @Override
    public void close() {
        engine.close();
    }
}
