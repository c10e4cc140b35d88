package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;

/** The sample program of the tests: two kernels with known results. */
final class SampleKernels {
    static final int COUNT = 256;
    static final Geometry SMALL_GROUPS = Geometry.of(COUNT).local(16);
    static final Geometry LARGE_GROUPS = Geometry.of(COUNT).local(64);

    private static final String SOURCE = """
        kernel void reverse(global const float* in, global float* out, local float* tile) {
            int l = get_local_id(0);
            int n = get_local_size(0);
            tile[l] = in[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_group_id(0) * n + l] = tile[n - 1 - l] * FACTOR;
        }
        kernel void shift(global const float* in, global float* out) {
            out[get_global_id(0)] = in[get_global_id(0)] + FACTOR;
        }
        """;

    private SampleKernels() {}

    static KernelDescriptor.Builder builder(Target target) {
        return KernelDescriptor.builder(target, "sample").source(SOURCE).options("-DFACTOR=2");
    }

    static float[] input() {
        float[] values = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            values[i] = i;
        }
        return values;
    }

    /** Runs {@code reverse} and returns its output. */
    static float[] reverse(OpenClEngine engine, LoadedKernels kernels, Geometry geometry) {
        float[] out = new float[COUNT];
        try (OpenClBuffer from = engine.bufferOf(input());
                OpenClBuffer into = engine.buffer((long) COUNT * Float.BYTES)) {
            kernels.launch(
                    "reverse",
                    geometry,
                    from,
                    into,
                    new LocalMemory(geometry.local().getFirst() * Float.BYTES));
            into.read(out);
        }
        return out;
    }

    /** Runs {@code shift} and returns its output. */
    static float[] shift(OpenClEngine engine, LoadedKernels kernels) {
        float[] out = new float[COUNT];
        try (OpenClBuffer from = engine.bufferOf(input());
                OpenClBuffer into = engine.buffer((long) COUNT * Float.BYTES)) {
            kernels.launch("shift", SMALL_GROUPS, from, into);
            into.read(out);
        }
        return out;
    }

    static float[] reversed(Geometry geometry, float factor) {
        int size = Math.toIntExact(geometry.local().getFirst());
        float[] expected = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            expected[i] = (i / size * size + size - 1 - i % size) * factor;
        }
        return expected;
    }

    static void checkReverse(OpenClEngine engine, LoadedKernels kernels, Geometry geometry) {
        assertArrayEquals(reversed(geometry, 2), reverse(engine, kernels, geometry));
    }
}
