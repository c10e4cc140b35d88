package dev.granary.gpu.levelzero;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Program on an installed driver: {@code build FILE} compiles two kernels and writes the native
 * binary, {@code restore FILE} restores it; both launch. It prints what it sees.
 */
public final class ModuleProgram {
    private static final int COUNT = 256;

    private static final String SOURCE = """
        #include "factor.clh"
        kernel void scale(global const float* in, global float* out, float factor) {
            out[get_global_id(0)] = in[get_global_id(0)] * factor * FACTOR;
        }
        kernel void reverse(global const float* in, global float* out, local float* tile) {
            int l = get_local_id(0);
            int n = get_local_size(0);
            tile[l] = in[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_group_id(0) * n + l] = tile[n - 1 - l];
        }
        """;

    private ModuleProgram() {}

    /** Runs with the mode and the file of the binary. */
    public static void main(String[] arguments) throws Exception {
        LevelZeroDevice device =
                switch (LevelZero.probe()) {
                    case LevelZero.Probe.Found found -> found.devices().getFirst();
                    case LevelZero.Probe.Missing missing -> {
                        System.out.println("missing=" + missing.cause());
                        yield null;
                    }
                };
        if (device == null) {
            return;
        }
        System.out.println("target=" + device.target());
        System.out.println("units=" + device.computeUnits());
        System.out.println("parts=" + device.subDevices().size());
        // the environment of a simulated device makes programs not cacheable; the digest stands
        // for it
        KernelDescriptor descriptor = KernelDescriptor.builder(device.target(), "sample")
                .source(SOURCE)
                .header("factor.clh", "#define FACTOR 3\n")
                .extraDigest("simulated")
                .build();
        Path file = Path.of(arguments[1]);
        try (LevelZeroEngine engine = LevelZeroEngine.open(device)) {
            long start = System.nanoTime();
            LevelZeroPrimitive primitive = arguments[0].equals("build")
                    ? engine.create(descriptor)
                    : engine.create(
                            descriptor,
                            KernelBinaries.of(Files.readAllBytes(file)),
                            BinaryKind.KERNEL);
            System.out.println("micros=" + (System.nanoTime() - start) / 1000);
            System.out.println("origin=" + primitive.origin());
            System.out.println("kernels=" + primitive.kernels());
            if (arguments[0].equals("build")) {
                Files.write(
                        file,
                        primitive.getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst());
            }
            start = System.nanoTime();
            launch(engine, primitive);
            System.out.println("launchMicros=" + (System.nanoTime() - start) / 1000);
        }
        System.out.println("end=closed");
    }

    private static void launch(LevelZeroEngine engine, LevelZeroPrimitive primitive)
            throws Exception {
        float[] out = new float[COUNT];
        try (LevelZeroKernels kernels = engine.load(primitive);
                DeviceBuffer from = engine.buffer(COUNT * Float.BYTES);
                DeviceBuffer into = engine.buffer(COUNT * Float.BYTES)) {
            from.writeFrom(MemorySegment.ofArray(new float[COUNT]));
            for (Geometry geometry : List.of(Geometry.of(COUNT), Geometry.of(COUNT).local(16))) {
                kernels.launch("scale", geometry, from, into, 2f);
            }
            into.readTo(MemorySegment.ofArray(out));
        }
    }
}
