package dev.granary.benchmarks.restore;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.demo.DriverCacheSettings;
import dev.granary.demo.kernels.DemoKernel;
import dev.granary.demo.kernels.DemoKernels;
import dev.granary.demo.kernels.KernelCheckResult;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.opencl.OpenClPrimitive;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;

/**
 * Benchmark of restores over the kernels of the demo, in one run: compiling from source; a lookup
 * that the local tier answers, through all of Granary; and the restore by the driver from the same
 * bytes in memory. Each includes loading and the first launch of every kernel. It prints ratios of
 * medians.
 *
 * <p>The drivers' own caches must be off, since they would be measured instead: otherwise the
 * benchmark refuses to run.
 */
public final class RestoreBenchmark {
    private static final int ROUNDS = 9;
    private static final int COMPILE_ROUNDS = 3;

    private final OpenClEngine engine;
    private final Path directory;

    private RestoreBenchmark(OpenClEngine engine, Path directory) {
        this.engine = engine;
        this.directory = directory;
    }

    /** Medians of one kernel, in milliseconds. */
    private record Row(String name, double compile, double local, double driver) {}

    /** Runs the benchmark; takes some minutes. */
    public static void main(String[] arguments) throws Exception {
        DriverCacheSettings.remedy().ifPresent(remedy -> {
            throw new IllegalStateException(remedy);
        });
        OpenClDevice device = OpenCl.devices().getFirst();
        Path directory = Files.createTempDirectory("granary-restore-");
        System.out.println(
                "Device: " + device + ". Lower caches off: " + DriverCacheSettings.ONE_THREAD);
        System.out.println("Medians of " + ROUNDS + " (compiling: " + COMPILE_ROUNDS
                + "), ms, loading and first launches included.");
        System.out.printf(
                "%-18s %10s %10s %10s %14s %14s%n",
                "kernel", "compile", "local", "driver", "compile/local", "local/driver");
        List<Row> rows = new ArrayList<>();
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            for (DemoKernel kernel : DemoKernels.all()) {
                Row row = new RestoreBenchmark(engine, directory).measure(kernel);
                print(row);
                rows.add(row);
            }
        }
        print(new Row(
                "total",
                rows.stream().mapToDouble(Row::compile).sum(),
                rows.stream().mapToDouble(Row::local).sum(),
                rows.stream().mapToDouble(Row::driver).sum()));
    }

    private static void print(Row row) {
        System.out.printf(
                "%-18s %10.1f %10.2f %10.2f %14.1f %14.2f%n",
                row.name(),
                row.compile(),
                row.local(),
                row.driver(),
                row.compile() / row.local(),
                row.local() / row.driver());
    }

    private Row measure(DemoKernel kernel) throws Exception {
        KernelDescriptor descriptor = kernel.descriptor(engine.target());
        double[] compile = new double[COMPILE_ROUNDS];
        for (int i = 0; i < COMPILE_ROUNDS; i++) {
            compile[i] = ready(kernel, () -> engine.create(descriptor));
        }
        GranaryConfig config = GranaryConfig.builder()
                .offline()
                .directory(directory.resolve("granary"))
                .primitiveCacheCapacity(0)
                .build();
        try (Granary granary = Granary.open(config)) {
            KernelBinaries binaries = filled(granary, kernel, descriptor);
            double[] local = new double[ROUNDS];
            double[] driver = new double[ROUNDS];
            for (int i = -2; i < ROUNDS; i++) { // the first rounds warm up
                double fromTier = ready(kernel, () -> {
                    var got = granary.obtain(engine, descriptor);
                    if (got.source() != PrimitiveSource.LOCAL) {
                        throw new IllegalStateException(
                                kernel.name() + " came from " + got.source());
                    }
                    return got.primitive();
                });
                double fromMemory =
                        ready(kernel, () -> engine.create(descriptor, binaries, BinaryKind.KERNEL));
                if (i >= 0) {
                    local[i] = fromTier;
                    driver[i] = fromMemory;
                }
            }
            return new Row(kernel.name(), median(compile), median(local), median(driver));
        }
    }

    /** Puts the kernel into the local tier and returns its binaries. */
    private KernelBinaries filled(Granary granary, DemoKernel kernel, KernelDescriptor descriptor)
            throws Exception {
        OpenClPrimitive compiled = granary.primitive(engine, descriptor);
        try (OpenClKernels live = engine.load(compiled)) {
            requireRight(kernel, live);
        }
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        if (!granary.flush(Duration.ofMinutes(1))) {
            throw new IllegalStateException("The local tier could not be filled");
        }
        return binaries;
    }

    /** Returns the milliseconds until every kernel of the program has run once. */
    private double ready(DemoKernel kernel, Callable<OpenClPrimitive> source) throws Exception {
        long start = System.nanoTime();
        OpenClPrimitive primitive = source.call();
        try (OpenClKernels live = engine.load(primitive)) {
            long loaded = System.nanoTime() - start;
            requireRight(kernel, live);
            return (loaded + live.firstLaunchTime().toNanos()) / 1e6;
        }
    }

    private void requireRight(DemoKernel kernel, OpenClKernels live) {
        if (kernel.verify(engine, live, new SplittableRandom(1))
                instanceof KernelCheckResult.Wrong wrong) {
            throw new IllegalStateException(
                    kernel.name() + " computes wrong results: " + wrong.difference());
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
