package dev.granary.gpu.levelzero;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Program on an installed driver: {@code build FILE} compiles two kernels and writes the native
 * binary, {@code restore FILE...} restores binaries; both launch. It prints what it sees.
 */
public final class ModuleProgram {
    static final String HEADER = "#define FACTOR 3\n";
    static final String SOURCE = """
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

    private static final int COUNT = 256;

    private ModuleProgram() {}

    /** Runs with the mode and the files of binaries. */
    public static void main(String[] arguments) throws Exception {
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing ->
                System.out.println("missing=" + missing.cause());
            case LevelZero.Probe.Found found -> {
                LevelZeroDevice device = found.devices().getFirst();
                System.out.println("target=" + device.target());
                try (LevelZeroEngine engine = LevelZeroEngine.open(device)) {
                    if (arguments[0].equals("build")) {
                        build(engine, Path.of(arguments[1]));
                    } else {
                        for (String file : List.of(arguments).subList(1, arguments.length)) {
                            restore(engine, Path.of(file));
                        }
                    }
                }
                System.out.println("end=closed");
            }
        }
    }

    /** The environment of a simulated device prevents caching; the digest stands for it. */
    private static KernelDescriptor descriptor(LevelZeroEngine engine) {
        return KernelDescriptor.builder(engine.target(), "sample")
                .source(SOURCE)
                .header("factor.clh", HEADER)
                .extraDigest("simulated")
                .build();
    }

    private static void build(LevelZeroEngine engine, Path file) throws Exception {
        long start = System.nanoTime();
        KernelProgram primitive;
        try {
            primitive = engine.create(descriptor(engine));
        } catch (CompileException e) {
            System.out.println("missing=" + e.getMessage());
            return;
        }
        System.out.println("built.micros=" + (System.nanoTime() - start) / 1000);
        Files.write(
                file, primitive.getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst());
        report("built", engine, primitive);
    }

    private static void restore(LevelZeroEngine engine, Path file) throws Exception {
        String name = file.getFileName().toString();
        KernelBinaries binaries = KernelBinaries.of(Files.readAllBytes(file));
        long start = System.nanoTime();
        try {
            KernelProgram primitive =
                    engine.create(descriptor(engine), binaries, BinaryKind.KERNEL);
            System.out.println(name + ".micros=" + (System.nanoTime() - start) / 1000);
            start = System.nanoTime();
            engine.create(descriptor(engine), binaries, BinaryKind.KERNEL);
            System.out.println(name + ".againMicros=" + (System.nanoTime() - start) / 1000);
            report(name, engine, primitive);
        } catch (RestoreException e) {
            System.out.println(name + ".refused=" + e.getMessage());
        }
    }

    private static void report(String name, LevelZeroEngine engine, KernelProgram primitive)
            throws Exception {
        System.out.println(name + ".origin=" + primitive.origin());
        System.out.println(name + ".kernels=" + primitive.kernels());
        float[] out = new float[COUNT];
        try (LoadedKernels kernels = engine.load(primitive);
                DeviceBuffer from = engine.buffer(COUNT * Float.BYTES);
                DeviceBuffer into = engine.buffer(COUNT * Float.BYTES)) {
            from.writeFrom(MemorySegment.ofArray(new float[COUNT]));
            for (Geometry geometry :
                    List.of(Geometry.of(COUNT), Geometry.of(COUNT).local(16))) {
                kernels.launch("scale", geometry, from, into, 2f);
            }
            into.readTo(MemorySegment.ofArray(out));
        }
    }
}
