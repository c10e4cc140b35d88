package dev.granary.gpu.levelzero;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

/** Programs for the {@link TestDriver}, in the format that {@code vector.c} describes. */
public final class VectorPrograms {
    /** The compiler of the tests: the test driver takes source in the place of SPIR-V. */
    public static final SpirvCompiler COMPILER =
            descriptor -> String.join("", descriptor.sources()).getBytes(UTF_8);

    private static final String VECTORS = """
        granary vector program
        kernel scale buffer buffer float
          mul 1 0 2
          times 1 1 EXTRA
        kernel add buffer buffer buffer
          add 2 0 1
        kernel reverse buffer buffer local
          reverse 1 0 2
        """;

    private VectorPrograms() {}

    /** Returns the program of the contract suite. */
    public static KernelDescriptor.Builder vectors(Target target, int extra) {
        return KernelDescriptor.builder(target, "vectors")
                .source(VECTORS.replace("EXTRA", String.valueOf(extra)));
    }

    /** Returns a program of these lines. */
    public static KernelDescriptor.Builder of(Target target, String lines) {
        return KernelDescriptor.builder(target, "program")
                .source("granary vector program\n" + lines);
    }
}
