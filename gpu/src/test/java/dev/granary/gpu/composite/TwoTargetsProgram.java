package dev.granary.gpu.composite;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Program that runs primitives on two devices of different targets, and between them. */
public final class TwoTargetsProgram {
    private TwoTargetsProgram() {}

    /** Prints the results. */
    public static void main(String[] arguments) throws Exception {
        CompositeCache composites = new InMemoryKernelProvider().composites(1024);
        List<OpenClDevice> devices = OpenCl.devices();
        try (OpenClEngine one = OpenClEngine.open(devices.get(0));
                OpenClEngine two = OpenClEngine.open(devices.get(1))) {
            for (OpenClEngine engine : List.of(one, two, one)) {
                try (CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                        .open(engine)) {
                    MatMul.check(engine, handle);
                }
            }
            System.out.println("products=" + composites.statistics());
            for (OpenClEngine main : List.of(one, two)) {
                CompositeDescriptor<Reorder> reorder =
                        Reorder.between(main.target(), one.target(), two.target(), 4, 8);
                System.out.println("result="
                        + reorder(composites, new EngineSet(main, one, two), reorder, one, two));
            }
            try {
                composites.primitive(
                        new EngineSet(one, two, one),
                        Reorder.between(one.target(), one.target(), two.target(), 4, 8));
            } catch (IllegalArgumentException e) {
                System.out.println("swapped=" + e.getMessage());
            }
            System.out.println("reorders=" + composites.statistics());
        }
    }

    private static int reorder(
            CompositeCache composites,
            EngineSet engines,
            CompositeDescriptor<Reorder> reorder,
            OpenClEngine source,
            OpenClEngine destination)
            throws Exception {
        float[] result = new float[32];
        try (CompositeHandle handle = composites.primitive(engines, reorder).open(engines);
                OpenClBuffer from = source.bufferOf(MatMul.numbers(32, 32));
                OpenClBuffer to = destination.buffer(128)) {
            handle.execute(Map.of("from", from, "to", to));
            to.read(result);
        }
        return Arrays.hashCode(result);
    }
}
