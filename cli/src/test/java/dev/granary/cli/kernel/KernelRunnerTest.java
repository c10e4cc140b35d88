package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.TestKernels;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.ProgressLine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.KernelDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Tests of failures of {@link KernelRunner}. */
class KernelRunnerTest {
    /** An engine with a bug. */
    private static final class FaultyEngine implements Engine<KernelDescriptor, Primitive> {
        @Override
        public Target target() {
            return TestEntries.TARGET;
        }

        @Override
        public Primitive create(KernelDescriptor descriptor) {
            throw new IllegalStateException("a bug");
        }

        @Override
        public Primitive create(
                KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
            throw new IllegalStateException("a bug");
        }

        @Override
        public void close() {}
    }

    @Test
    @DisplayName("A bug of Granary is an internal error with its stack trace, not a kernel that"
            + " fails to compile")
    void internalError(@TempDir Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("k.cl"), "kernel void k() {}");
        GranaryConfig config = GranaryConfig.builder()
                .environment(Map.of("XDG_CONFIG_HOME", directory + "/none"))
                .directory(directory.resolve("local"))
                .build();
        try (Granary granary = Granary.open(config);
                FaultyEngine engine = new FaultyEngine()) {
            KernelSpec kernel = TestKernels.of("k", source);
            KernelResult result = new KernelRunner(granary, engine)
                    .runAll(
                            List.of(kernel),
                            1,
                            new ProgressLine(new PrintWriter(new StringWriter()), "running", 1),
                            _ -> {})
                    .getFirst();
            assertEquals(Outcome.INTERNAL_ERROR, result.outcome());
            assertTrue(result.failure().startsWith("internal error of Granary"), result::failure);
            List<String> log = result.log().orElseThrow().lines(BuildLog.Extent.WHOLE);
            assertTrue(log.getFirst().contains("IllegalStateException: a bug"), log::toString);
            assertTrue(
                    log.stream().anyMatch(line -> line.contains("FaultyEngine.create")),
                    log::toString);
        }
    }
}
