package dev.granary.gpu.contract;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;

/** Launches of the kernels of {@link EngineUnderTest#vectors}, and their expected results. */
final class VectorLaunches {
    static final int COUNT = 256;
    static final int GROUP = 16;
    static final Geometry GEOMETRY = Geometry.of(COUNT).local(GROUP);

    private VectorLaunches() {}

    /** Returns the numbers 0, 1, 2 ... as the input of all launches. */
    static float[] input() {
        float[] input = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            input[i] = i;
        }
        return input;
    }

    static float[] scaled(float factor) {
        float[] expected = input();
        for (int i = 0; i < COUNT; i++) {
            expected[i] *= factor;
        }
        return expected;
    }

    static float[] reversed() {
        float[] expected = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            expected[i] = i / GROUP * GROUP + GROUP - 1 - i % GROUP;
        }
        return expected;
    }

    static DeviceBuffer filled(KernelEngine engine, float[] content) {
        DeviceBuffer buffer = engine.buffer((long) content.length * Float.BYTES);
        buffer.write(content);
        return buffer;
    }

    static float[] content(DeviceBuffer buffer) {
        float[] content = new float[Math.toIntExact(buffer.byteSize() / Float.BYTES)];
        buffer.read(content);
        return content;
    }

    static float[] scale(
            KernelEngine engine, LoadedKernels kernels, Geometry geometry, Object factor) {
        try (DeviceBuffer in = filled(engine, input());
                DeviceBuffer out = filled(engine, new float[COUNT])) {
            kernels.launch("scale", geometry, in, out, factor);
            return content(out);
        }
    }

    static float[] add(KernelEngine engine, LoadedKernels kernels) {
        try (DeviceBuffer in = filled(engine, input());
                DeviceBuffer out = filled(engine, new float[COUNT])) {
            kernels.launch("add", GEOMETRY, in, in, out);
            return content(out);
        }
    }

    static float[] reverse(KernelEngine engine, LoadedKernels kernels) {
        try (DeviceBuffer in = filled(engine, input());
                DeviceBuffer out = filled(engine, new float[COUNT])) {
            kernels.launch(
                    "reverse", GEOMETRY, in, out, new LocalMemory((long) GROUP * Float.BYTES));
            return content(out);
        }
    }
}
