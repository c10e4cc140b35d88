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
 * bytes in memory. Each includes loading and the first launch of every kernel.
 *
 * <p>The kernels take turns in rounds, so that all are measured in the same state of the JVM. It
 * prints ratios of medians for three of these states: the first round, in which the JVM loads and
 * interprets most of the code; the rounds after it; and the last rounds, for which the JVM has
 * compiled it.
 *
 * <p>The drivers' own caches must be off, since they would be measured instead: otherwise the
 * benchmark refuses to run.
 */
public final class RestoreBenchmark {
    private static final int COMPILE_ROUNDS = 3;

    private final OpenClEngine engine;
    private final Granary granary;
    private final List<KernelRestores> kernels = new ArrayList<>();

    private RestoreBenchmark(OpenClEngine engine, Granary granary) {
        this.engine = engine;
        this.granary = granary;
    }

    /** The rounds that belong to one state of the JVM. */
    private enum Phase {
        FIRST("first round", 0, 1),
        EARLY("rounds 3 to 11", 2, 11),
        WARM("warm JVM", 50, 80);

        private final String label;
        private final int from;
        private final int to;

        Phase(String label, int from, int to) {
            this.label = label;
            this.from = from;
            this.to = to;
        }
    }

    /** Medians, in milliseconds. */
    private record Row(String name, double compile, double local, double driver) {
        private static final Row NONE = new Row("", 0, 0, 0);

        Row plus(Row other, String sumName) {
            return new Row(
                    sumName, compile + other.compile, local + other.local, driver + other.driver);
        }

        void print() {
            System.out.printf(
                    "%-18s %10.1f %10.2f %10.2f %14.1f %14.2f%n",
                    name, compile, local, driver, compile / local, local / driver);
        }
    }

    /** One kernel with its times, in milliseconds, a position for each round. */
    private static final class KernelRestores {
        private final DemoKernel kernel;
        private final KernelDescriptor descriptor;
        private final KernelBinaries binaries;
        private final double[] compile;
        private final double[] local = new double[Phase.WARM.to];
        private final double[] driver = new double[Phase.WARM.to];

        KernelRestores(
                DemoKernel kernel,
                KernelDescriptor descriptor,
                KernelBinaries binaries,
                double[] compile) {
            this.kernel = kernel;
            this.descriptor = descriptor;
            this.binaries = binaries;
            this.compile = compile;
        }

        Row row(Phase phase) {
            return new Row(
                    kernel.name(), median(compile), median(local, phase), median(driver, phase));
        }

        private static double median(double[] rounds, Phase phase) {
            return median(Arrays.copyOfRange(rounds, phase.from, phase.to));
        }

        private static double median(double[] values) {
            double[] sorted = values.clone();
            Arrays.sort(sorted);
            return sorted[sorted.length / 2];
        }
    }

    /** Runs the benchmark; takes some minutes. */
    public static void main(String[] arguments) throws Exception {
        DriverCacheSettings.remedy().ifPresent(remedy -> {
            throw new IllegalStateException(remedy);
        });
        OpenClDevice device = OpenCl.devices().getFirst();
        Path directory = Files.createTempDirectory("granary-restore-");
        System.out.println(
                "Device: " + device + ". Lower caches off: " + DriverCacheSettings.ONE_THREAD);
        GranaryConfig config = GranaryConfig.builder()
                .offline()
                .directory(directory.resolve("granary"))
                .primitiveCacheCapacity(0)
                .build();
        try (OpenClEngine engine = OpenClEngine.open(device);
                Granary granary = Granary.open(config)) {
            RestoreBenchmark benchmark = new RestoreBenchmark(engine, granary);
            benchmark.compile();
            for (int round = 0; round < Phase.WARM.to; round++) {
                benchmark.restore(round);
            }
            benchmark.print();
        }
    }

    /** Compiles every kernel, and puts it into the local tier. */
    private void compile() throws Exception {
        for (DemoKernel kernel : DemoKernels.programs()) {
            KernelDescriptor descriptor = kernel.descriptor(engine.target());
            double[] compile = new double[COMPILE_ROUNDS];
            for (int i = 0; i < COMPILE_ROUNDS; i++) {
                compile[i] = ready(kernel, () -> engine.create(descriptor));
            }
            kernels.add(
                    new KernelRestores(kernel, descriptor, filled(kernel, descriptor), compile));
        }
    }

    /** Puts the kernel into the local tier and returns its binaries. */
    private KernelBinaries filled(DemoKernel kernel, KernelDescriptor descriptor) throws Exception {
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

    /** Restores every kernel in both ways, in alternating order. */
    private void restore(int round) throws Exception {
        for (KernelRestores each : kernels) {
            if (round % 2 == 0) {
                each.local[round] = fromTier(each);
                each.driver[round] = fromMemory(each);
            } else {
                each.driver[round] = fromMemory(each);
                each.local[round] = fromTier(each);
            }
        }
    }

    private double fromTier(KernelRestores restores) throws Exception {
        return ready(restores.kernel, () -> {
            var got = granary.obtain(engine, restores.descriptor);
            if (got.source() != PrimitiveSource.LOCAL) {
                throw new IllegalStateException(
                        restores.kernel.name() + " came from " + got.source());
            }
            return got.primitive();
        });
    }

    private double fromMemory(KernelRestores restores) throws Exception {
        return ready(
                restores.kernel,
                () -> engine.create(restores.descriptor, restores.binaries, BinaryKind.KERNEL));
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

    private void print() {
        System.out.printf(
                "Medians of rounds %d to %d (compiling: of %d), ms, loading and first launches"
                        + " included.%n",
                Phase.WARM.from + 1, Phase.WARM.to, COMPILE_ROUNDS);
        System.out.printf(
                "%-18s %10s %10s %10s %14s %14s%n",
                "kernel", "compile", "local", "driver", "compile/local", "local/driver");
        kernels.forEach(each -> each.row(Phase.WARM).print());
        System.out.println("total of all kernels:");
        for (Phase phase : Phase.values()) {
            Row sum = Row.NONE;
            for (KernelRestores each : kernels) {
                sum = sum.plus(each.row(phase), phase.label);
            }
            sum.print();
        }
    }
}
