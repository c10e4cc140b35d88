package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Sha256;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/**
 * Process that looks a program up for the first device of Level Zero, and prints the result and the
 * counters. The configuration and the search path of compilers are those of the environment.
 */
final class IntermediateProcess {
    /** A source that is the same on all devices. */
    static final String PORTABLE = """
        #include "factor.clh"
        kernel void scale(global const float* in, global float* out, float factor) {
            out[get_global_id(0)] = sqrt(in[get_global_id(0)]) * factor * FACTOR * 0.5f;
        }
        """;

    /** A source whose literal is a double where the device has them. */
    static final String OF_DEVICE = """
        #include "factor.clh"
        kernel void scale(global const float* in, global float* out, float factor) {
            out[get_global_id(0)] = in[get_global_id(0)] * factor * FACTOR * 0.1;
        }
        """;

    private IntermediateProcess() {}

    /** Returns the kernel for a target. The environment of a simulated device needs a digest. */
    static KernelDescriptor kernel(dev.granary.cache.Target target, String source) {
        return KernelDescriptor.builder(target, "sample")
                .source(source)
                .header("factor.clh", "#define FACTOR 3\n")
                .options("-cl-mad-enable -ze-opt-disable")
                .entry("scale")
                .extraDigest("simulated")
                .build();
    }

    /**
     * Runs with {@code portable} or {@code device}, {@code true} to publish in packs, and
     * {@code true} to explain the lookup first.
     */
    public static void main(String[] arguments) throws Exception {
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Missing missing ->
                System.out.println("missing=" + missing.cause());
            case LevelZero.Probe.Found found -> {
                try (LevelZeroEngine engine =
                        LevelZeroEngine.open(found.devices().getFirst())) {
                    KernelDescriptor kernel = kernel(
                            engine.target(),
                            arguments[0].equals("portable") ? PORTABLE : OF_DEVICE);
                    if (Boolean.parseBoolean(arguments[2])) {
                        System.out.println("explained=" + explain(kernel));
                    }
                    lookUp(engine, kernel, Boolean.parseBoolean(arguments[1]));
                }
            }
        }
    }

    /** Returns the tier of the intermediate program, or that it is compiled or missing. */
    private static String explain(KernelDescriptor kernel) throws Exception {
        Explainer.Explanation explanation = Explainer.explain(
                GranaryConfig.fromEnvironment(),
                SpirvCompiler.onPath(),
                InstantSource.system(),
                new Explainer.Request(
                        kernel.getId(),
                        kernel.target(),
                        List.of(),
                        Optional.empty(),
                        Optional.of(kernel)));
        if (explanation.failure().isPresent()) {
            return "missing";
        }
        return explanation.events().stream()
                .filter(GranaryEvent.Restore.class::isInstance)
                .map(event -> "stored in " + ((GranaryEvent.Restore) event).tier())
                .findFirst()
                .orElse("compiled");
    }

    private static void lookUp(LevelZeroEngine engine, KernelDescriptor kernel, boolean isInPacks)
            throws Exception {
        System.out.println("target=" + engine.target().path());
        System.out.println("intermediate="
                + IntermediateDescriptor.of(kernel).getId().hash().hex());
        GranaryBuilder builder = Granary.builder();
        try (Granary granary = (isInPacks ? builder.inPacks() : builder).open()) {
            try {
                LookupResult<KernelProgram> result = granary.lookup(engine, kernel);
                System.out.println("source=" + result.source());
                System.out.println("kernels=" + result.primitive().kernels());
                System.out.println("micros=" + result.took().toNanos() / 1000);
                System.out.println("binary="
                        + Sha256.of(result.primitive()
                                        .getBinaries(BinaryKind.KERNEL)
                                        .toByteArrays()
                                        .getFirst())
                                .hex());
            } catch (CompileException e) {
                System.out.println("failure=" + e.getMessage());
            }
            granary.flush(Duration.ofMinutes(1));
            granary.statistics()
                    .counters()
                    .forEach((name, value) -> System.out.println("count " + name + "=" + value));
        }
    }
}
