package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.demo.DriverCacheSettings;
import dev.granary.demo.kernels.DemoKernel;
import dev.granary.demo.kernels.DemoKernels;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClPrimitive;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Measure of a verified lookup of a compiled kernel in the local tier, against the load of the same
 * binary from memory by the driver.
 */
final class DriverMeasure {
    private static final Set<String> KERNELS =
            Set.of("vector-add", "gemm-16", "convolution-3x3", "bitonic-sort", "lattice-boltzmann");
    private static final int WARM_ROUNDS = 5000;
    private static final int LOOKUPS = 20; // of one kernel, for each load by the driver
    private static final double GOAL_PERCENT = 0.5;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final ReportSection section = new ReportSection(
            "driver",
            "a verified hit against the driver's load from binary; medians",
            new ReportSection.Column("kibibytes", "KiB", 0),
            new ReportSection.Column("hitMicros", "hit us", 2),
            new ReportSection.Column("driverMicros", "driver us", 0),
            new ReportSection.Column("percent", "hit %", 3));
    private double worst = Double.NaN;

    DriverMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    ReportSection section() {
        section.goal(new Goal(
                "hit, % of the driver's load, worst kernel",
                Goal.Bound.AT_MOST, GOAL_PERCENT, worst));
        return section;
    }

    void run() throws Exception {
        if (OpenCl.devices().isEmpty()) {
            section.note("not measured: there is no OpenCL device here");
            return;
        }
        if (DriverCacheSettings.remedy().isPresent()) {
            section.note("not measured. " + DriverCacheSettings.remedy().get());
            return;
        }
        section.note("driver: " + OpenCl.devices().getFirst()
                + "; its load is create program, build, create kernels. "
                + "The drivers' own caches are off: " + DriverCacheSettings.ONE_THREAD);
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                LocalTier tier = LocalTier.open(
                        LocalTierConfig.builder(workplace.directory("driver").resolve("tier"))
                                .build())) {
            for (DemoKernel kernel : DemoKernels.programs()) {
                if (KERNELS.contains(kernel.name())) {
                    workplace.say("driver, " + kernel.name());
                    measure(engine, tier, kernel);
                }
            }
        }
    }

    private void measure(OpenClEngine engine, LocalTier tier, DemoKernel kernel) throws Exception {
        KernelDescriptor descriptor = kernel.descriptor(engine.target());
        Id id = descriptor.getId();
        OpenClPrimitive compiled = engine.create(descriptor);
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        engine.load(compiled).close();
        EntryMetadata metadata = new EntryMetadata(
                "bench", "bench", Instant.EPOCH, compiled.kernels(), List.of(), "bench");
        StoreResult stored = tier.store(Entry.of(id, binaries, compiled.compileTime(), metadata));
        if (!(stored instanceof StoreResult.Stored)) {
            throw new IOException("not stored: " + stored);
        }
        for (int i = 0; i < WARM_ROUNDS; i++) {
            hit(tier, id);
        }
        List<Double> hits = new ArrayList<>();
        List<Double> loads = new ArrayList<>();
        for (int round = -2; round < settings.rounds(); round++) {
            double load = load(engine, descriptor, binaries);
            for (int i = 0; i < LOOKUPS; i++) {
                double hit = hit(tier, id);
                if (round >= 0) {
                    hits.add(hit);
                }
            }
            if (round >= 0) {
                loads.add(load);
            }
        }
        double percent = 100 * Rounds.median(hits) / Rounds.median(loads);
        worst = Double.isNaN(worst) ? percent : Math.max(worst, percent);
        section.row(
                kernel.name(),
                binaries.byteSize() / 1024.0,
                Rounds.median(hits),
                Rounds.median(loads),
                percent);
    }

    private static double hit(LocalTier tier, Id id) throws IOException {
        long start = System.nanoTime();
        try (Arena arena = Arena.ofConfined()) {
            if (!(tier.load(id, arena) instanceof LoadResult.Hit)) {
                throw new IOException("no hit: " + id);
            }
        }
        return (System.nanoTime() - start) / 1e3;
    }

    private static double load(
            OpenClEngine engine, KernelDescriptor descriptor, KernelBinaries binaries)
            throws Exception {
        long start = System.nanoTime();
        OpenClPrimitive restored = engine.create(descriptor, binaries, BinaryKind.KERNEL);
        double micros = (System.nanoTime() - start) / 1e3;
        engine.load(restored).close(); // releases the program
        return micros;
    }
}
