package dev.granary.gpu.composite;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.List;

/**
 * Program that runs one primitive on three engines in sequence, and prints a line as each begins,
 * to separate the driver's messages.
 */
public final class ReopenProgram {
    private ReopenProgram() {}

    /** Runs; with the argument {@code unlaunched}, the first engine is closed before any launch. */
    public static void main(String[] arguments) throws Exception {
        boolean isLaunched = !List.of(arguments).contains("unlaunched");
        CompositeCache composites = new InMemoryKernelProvider().composites(1024);
        for (int i = 0; i < 3; i++) {
            System.out.println("engine " + i);
            try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                    CompositeHandle handle = composites
                            .primitive(
                                    EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                            .open(engine)) {
                if (isLaunched || i > 0) {
                    MatMul.check(engine, handle);
                }
            }
        }
        System.out.println("created=" + composites.statistics().created());
    }
}
