package com.example.sky;

import dev.granary.cache.CompileException;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClEngine;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/**
 * Processes images of the sky by eleven kernels, in four threads, with launch code of its own. With
 * the argument {@code uncached} each process compiles, as before this program used Granary.
 */
public final class Sky {
    private static final int IMAGES = 8;
    private static final int THREADS = 4;

    private Sky() {}

    /** Processes the images, and prints how many programs were compiled. */
    public static void main(String[] arguments) throws Exception {
        long start = System.nanoTime();
        try (Device device = Device.open()) {
            if (List.of(arguments).contains("uncached")) {
                try (Kernels kernels = new Kernels(device, device::compile)) {
                    process(device, kernels);
                }
                System.out.println("all programs compiled, right results, " + since(start));
                return;
            }
            try (OpenClEngine engine =
                            OpenClEngine.wrap(device.context(), device.id(), device.queue());
                    Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                    Kernels kernels = new Kernels(
                            device, (name, source) -> build(granary, engine, name, source))) {
                prepare(granary, engine);
                process(device, kernels);
                System.out.println(granary.statistics().counters().get("compiled")
                        + " programs compiled, right results, " + since(start));
            }
        }
    }

    /** Takes a program from the cache; it is compiled if nobody has done so. */
    private static long build(Granary granary, OpenClEngine engine, String name, String source) {
        var kernel = KernelDescriptor.builder(engine.target(), name).source(source).build();
        try (var program = engine.program(granary.primitive(engine, kernel))) {
            return program.retainHandle();
        } catch (CompileException e) {
            throw new IllegalStateException(name + " does not compile:\n" + e.buildLog());
        }
    }

    /** Gets all programs in parallel, with a progress bar. Without this, each comes when needed. */
    private static void prepare(Granary granary, OpenClEngine engine) {
        List<KernelDescriptor> all = Kernels.NAMES.stream()
                .map(name -> KernelDescriptor.builder(engine.target(), name)
                        .source(Kernels.source(name))
                        .build())
                .toList();
        granary.prepare(
                        engine,
                        all,
                        state -> System.err.print("\r[" + "#".repeat(state.done())
                                + " ".repeat(state.total() - state.done()) + "] "
                                + state.found() + " found, " + state.compiled() + " compiled"))
                .join();
        System.err.println();
    }

    private static String since(long start) {
        return (System.nanoTime() - start) / 1_000_000 + " ms";
    }

    private static void process(Device device, Kernels kernels) throws Exception {
        float[] dark = noise(1, 0, 0.1f);
        float[] flat = noise(2, 0.8f, 0.4f);
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> images = IntStream.range(0, IMAGES)
                    .<Future<?>>mapToObj(i -> threads.submit(() -> {
                        float[] raw = noise(3 + i, 0, 1);
                        check(
                                Expected.process(raw, dark, flat),
                                Pipeline.process(device, kernels, raw, dark, flat));
                    }))
                    .toList();
            for (Future<?> image : images) {
                image.get();
            }
        }
    }

    private static float[] noise(long seed, float least, float range) {
        Random random = new Random(seed);
        float[] values = new float[Pipeline.PIXELS];
        for (int i = 0; i < values.length; i++) {
            values[i] = least + range * random.nextFloat();
        }
        return values;
    }

    private static void check(float[] expected, float[] computed) {
        for (int i = 0; i < expected.length; i++) {
            if (!(Math.abs(expected[i] - computed[i]) <= 1e-4f)) {
                throw new AssertionError(
                        "pixel " + i + " is " + computed[i] + ", not " + expected[i]);
            }
        }
    }
}
