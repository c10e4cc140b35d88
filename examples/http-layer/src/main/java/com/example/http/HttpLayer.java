package com.example.http;

import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import java.net.URI;
import java.time.Duration;

/**
 * Computes y = 2 x + y on the first OpenCL device, with a kernel of an exported tree if it is
 * there: {@code java -jar http-layer-1.0.jar http://server/kernels/}.
 */
public final class HttpLayer {
    private static final int N = 1 << 16;
    private static final String SOURCE = """
            kernel void saxpy(float a, global const float *x, global float *y, int n) {
                int i = get_global_id(0);
                if (i < n) {
                    y[i] = a * x[i] + y[i];
                }
            }
            """;

    private HttpLayer() {}

    /** Runs the kernel and prints where it came from. */
    public static void main(String[] arguments) throws Exception {
        Geometry launch = Geometry.of(N).local(64);
        float[] values = new float[N];
        for (int i = 0; i < N; i++) {
            values[i] = i;
        }
        try (HttpTreeCache tree =
                        new HttpTreeCache(URI.create(arguments[0]), Duration.ofSeconds(8));
                Granary granary = Granary.builder()
                        .config(GranaryConfig.fromEnvironment())
                        .readOnlyLayer("tree", tree)
                        .open();
                OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                OpenClBuffer x = engine.bufferOf(values);
                OpenClBuffer y = engine.bufferOf(values)) {
            KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "saxpy")
                    .source(SOURCE)
                    .launch("saxpy", launch)
                    .build();
            LookupResult<KernelProgram> result = granary.lookup(engine, descriptor);
            try (LoadedKernels kernels = engine.load(result.primitive())) {
                kernels.launch("saxpy", launch, 2.0f, x, y, N);
            }
            float[] sum = new float[N];
            y.read(sum);
            for (int i = 0; i < N; i++) {
                if (sum[i] != 3.0f * i) {
                    throw new AssertionError("y[" + i + "] is " + sum[i]);
                }
            }
            System.out.println(result.source() + ", " + N + " right results on "
                    + engine.target().device());
        }
    }
}
