package dev.granary.gpu.composite;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;

/**
 * Program that prints the cost of obtaining a composite primitive of three programs, median per
 * call: docs/decisions/0009-primitives.md.
 */
public final class HandleCosts {
    private HandleCosts() {}

    /** Measures on the first device. */
    public static void main(String[] arguments) throws Exception {
        OpenClDevice device = OpenCl.devices().getFirst();
        print(
                "created, run, on a new engine",
                5,
                () -> onNewEngine(device, new InMemoryKernelProvider().composites(0)));
        CompositeCache composites = new InMemoryKernelProvider().composites(1024);
        onNewEngine(device, composites);
        print("from the cache, run, on a new engine", 200, () -> onNewEngine(device, composites));
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            CompositeDescriptor<MatMul> product = MatMul.packed(engine.target(), 8, 12, 4);
            print("from the cache, a handle on the same engine", 500, () -> {
                composites.primitive(EngineSet.of(engine), product).open(engine).close();
                return 0;
            });
            try (CompositeHandle handle =
                    composites.primitive(EngineSet.of(engine), product).open(engine)) {
                print("run, with the handle kept", 500, () -> {
                    MatMul.check(engine, handle);
                    return 0;
                });
            }
            print("the id of a new descriptor, 1,000 times", 100, () -> {
                int length = 0;
                for (int i = 0; i < 1000; i++) {
                    length += MatMul.packed(engine.target(), 8, 12, 4).getId().length();
                }
                return length;
            });
            print("the primitive alone, from the cache, 1,000 times", 500, () -> {
                int found = 0;
                for (int i = 0; i < 1000; i++) {
                    found += composites
                            .primitive(EngineSet.of(engine), product)
                            .nested()
                            .size();
                }
                return found;
            });
        }
    }

    private static int onNewEngine(OpenClDevice device, CompositeCache composites)
            throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(device);
                CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                        .open(engine)) {
            MatMul.check(engine, handle);
        }
        return 0;
    }

    private static void print(String label, int repetitions, Callable<Integer> call)
            throws Exception {
        long[] nanos = new long[repetitions];
        for (int i = 0; i < repetitions; i++) {
            long start = System.nanoTime();
            call.call();
            nanos[i] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        System.out.printf(
                Locale.ROOT,
                "%-50s %,12.1f us, median of %d%n",
                label,
                nanos[repetitions / 2] / 1000.0,
                repetitions);
    }
}
