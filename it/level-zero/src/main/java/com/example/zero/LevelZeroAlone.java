package com.example.zero;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroBuffer;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A program with Level Zero alone, on the driver of the tests. It prints the result or message of
 * each entry point of OpenCL without a binding, and the tier or compile that its program came
 * from.
 */
public final class LevelZeroAlone {
    private static final int N = 1024;

    /** A program in the format of the driver, in the place of SPIR-V. */
    private static final String PROGRAM = """
            granary vector program
            kernel scale buffer buffer float
              mul 1 0 2
            """;

    private LevelZeroAlone() {}

    /** Runs the kernel on the first device. */
    public static void main(String[] arguments) throws Exception {
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing -> System.out.println("missing=" + missing.cause());
            case LevelZero.Probe.Found found -> run(found.devices().getFirst());
        }
    }

    private static void run(LevelZeroDevice device) throws Exception {
        System.out.println("probe=" + OpenCl.probe());
        System.out.println("devices=" + mistake(OpenCl::devices));
        System.out.println("wrap=" + mistake(() -> OpenClEngine.wrap(1, 2, 3)));
        OpenCl.expectLaunches(List.of(Geometry.of(N))); // for PoCL, if it were there
        float[] values = new float[N];
        for (int i = 0; i < N; i++) {
            values[i] = i;
        }
        try (Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                LevelZeroEngine engine =
                        LevelZeroEngine.open(device, kernel -> kernel.sources().getFirst().getBytes(UTF_8));
                LevelZeroBuffer in = engine.buffer(N * Float.BYTES);
                LevelZeroBuffer out = engine.buffer(N * Float.BYTES)) {
            KernelDescriptor descriptor =
                    KernelDescriptor.builder(engine.target(), "scale").source(PROGRAM).build();
            LookupResult<KernelProgram> result = granary.lookup(engine, descriptor);
            in.writeFrom(MemorySegment.ofArray(values));
            try (LoadedKernels kernels = engine.load(result.primitive())) {
                kernels.launch("scale", Geometry.of(N).local(64), in, out, 2.0f);
            }
            float[] scaled = new float[N];
            out.readTo(MemorySegment.ofArray(scaled));
            for (int i = 0; i < N; i++) {
                if (scaled[i] != 2.0f * i) {
                    throw new AssertionError("element " + i + " is " + scaled[i]);
                }
            }
            System.out.println("source=" + result.source());
        }
    }

    /** Returns the message of the mistake, or the error that a program would see instead. */
    private static String mistake(Runnable use) {
        try {
            use.run();
            return "none";
        } catch (IllegalStateException e) {
            return e.getMessage();
        } catch (RuntimeException | Error e) {
            return e.toString();
        }
    }
}
