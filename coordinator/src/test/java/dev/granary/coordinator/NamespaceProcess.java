package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.time.Duration;
import java.util.List;

/**
 * Process that looks a program up for the first device of {@code opencl} or {@code level-zero}, and
 * prints what it sees. The configuration is that of the environment.
 */
public final class NamespaceProcess {
    private static final String SOURCE = """
        #include "factor.clh"
        kernel void scale(global const float* in, global float* out, float factor) {
            out[get_global_id(0)] = in[get_global_id(0)] * factor * FACTOR * EXTRA;
        }
        kernel void reverse(global const float* in, global float* out, local float* tile) {
            int l = get_local_id(0);
            int n = get_local_size(0);
            tile[l] = in[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_group_id(0) * n + l] = tile[n - 1 - l];
        }
        """;

    /** The programs that a process may look up. */
    enum Program {
        /** OpenCL C with a header. */
        SOURCE,
        /** A module of SPIR-V. */
        MODULE
    }

    private NamespaceProcess() {}

    /** Runs with a backend, {@code true} to publish in packs, and a {@link Program}. */
    public static void main(String[] arguments) throws Exception {
        List<Target> openCl =
                OpenCl.devices().stream().map(OpenClDevice::target).toList();
        boolean isInPacks = Boolean.parseBoolean(arguments[1]);
        Program program = Program.valueOf(arguments[2]);
        if (arguments[0].equals("opencl")) {
            if (openCl.isEmpty()) {
                System.out.println("missing=no OpenCL device");
                return;
            }
            try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
                System.out.println("languages=" + engine.device().intermediateLanguages());
                lookUp(engine, isInPacks, program);
            }
            return;
        }
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing ->
                System.out.println("missing=" + missing.cause());
            case LevelZero.Probe.Found found -> {
                try (LevelZeroEngine engine =
                        LevelZeroEngine.open(found.devices().getFirst().reading(openCl))) {
                    System.out.println("reads=" + engine.readableTargets());
                    lookUp(engine, isInPacks, program);
                }
            }
        }
    }

    /** The environment of a simulated device prevents caching; the digest stands for it. */
    private static KernelDescriptor descriptor(KernelEngine engine, Program program) {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(engine.target(), "sample").extraDigest("simulated");
        return switch (program) {
            case SOURCE ->
                builder.source(SOURCE)
                        .header("factor.clh", "#define FACTOR 3\n")
                        .options("-D EXTRA=2 -cl-mad-enable")
                        .entry("scale")
                        .build();
            case MODULE ->
                builder.spirv(SampleBinaries.bytes("saxpy.spv"))
                        .options("-cl-mad-enable")
                        .build();
        };
    }

    private static void lookUp(KernelEngine engine, boolean isInPacks, Program program)
            throws Exception {
        KernelDescriptor descriptor = descriptor(engine, program);
        GranaryBuilder builder = Granary.builder();
        try (Granary granary = (isInPacks ? builder.inPacks() : builder).open()) {
            LookupResult<?> result = granary.lookup(engine, descriptor);
            granary.flush(Duration.ofMinutes(1));
            System.out.println("target=" + engine.target().path());
            System.out.println("source=" + result.source()
                    + result.from().map(from -> " from " + from.path()).orElse(""));
            System.out.println("origin=" + result.primitive().origin());
            System.out.println("kernels=" + result.primitive().kernels());
            System.out.println("cross=" + granary.statistics().count(Counter.CROSS_NAMESPACE));
            System.out.println("intermediate="
                    + (granary.statistics().count(Counter.INTERMEDIATE_HITS)
                            + granary.statistics().count(Counter.INTERMEDIATE_COMPILED)));
            System.out.println("micros=" + result.took().toNanos() / 1000);
            System.out.println(
                    "bytes=" + result.primitive().getBinaries(BinaryKind.KERNEL).byteSize());
        }
    }
}
