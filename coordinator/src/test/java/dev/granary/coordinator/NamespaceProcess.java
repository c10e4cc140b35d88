package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Target;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
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

    private NamespaceProcess() {}

    /** Runs with a backend and a {@link PublishMode}. */
    public static void main(String[] arguments) throws Exception {
        List<Target> openCl =
                OpenCl.devices().stream().map(OpenClDevice::target).toList();
        PublishMode publishing = PublishMode.valueOf(arguments[1]);
        if (arguments[0].equals("opencl")) {
            if (openCl.isEmpty()) {
                System.out.println("missing=no OpenCL device");
                return;
            }
            try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
                lookUp(engine, publishing);
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
                    lookUp(engine, publishing);
                }
            }
        }
    }

    private static void lookUp(KernelEngine<?> engine, PublishMode publishing) throws Exception {
        // the environment of a simulated device prevents caching; the digest stands for it
        KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "sample")
                .source(SOURCE)
                .header("factor.clh", "#define FACTOR 3\n")
                .options("-D EXTRA=2 -cl-mad-enable")
                .entry("scale")
                .extraDigest("simulated")
                .build();
        try (Granary granary =
                Granary.open(GranaryConfig.fromEnvironment(), publishing, (_, _) -> {})) {
            LookupResult<?> result = granary.obtain(engine, descriptor);
            granary.flush(Duration.ofMinutes(1));
            System.out.println("target=" + engine.target().path());
            System.out.println("source=" + result.source()
                    + result.from().map(from -> " from " + from.path()).orElse(""));
            System.out.println("origin=" + result.primitive().origin());
            System.out.println("kernels=" + result.primitive().kernels());
            System.out.println(
                    "cross=" + granary.statistics().count(LookupCounter.CROSS_NAMESPACE));
            System.out.println("micros=" + result.took().toNanos() / 1000);
            System.out.println(
                    "bytes=" + result.primitive().getBinaries(BinaryKind.KERNEL).byteSize());
        }
    }
}
