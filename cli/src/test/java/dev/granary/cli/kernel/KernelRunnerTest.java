package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.TestKernels;
import dev.granary.cli.output.ProgressLine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.offline.CompiledProgram;
import dev.granary.testing.Await;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of {@link KernelRunner}. */
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
            List<String> log = result.log().orElseThrow().lines(Integer.MAX_VALUE);
            assertTrue(log.getFirst().contains("IllegalStateException: a bug"), log::toString);
            assertTrue(
                    log.stream().anyMatch(line -> line.contains("FaultyEngine.create")),
                    log::toString);
        }
    }

    /** An engine whose second compile waits until the first program is in the bucket. */
    private record PatientEngine(TestFleet fleet, TestTicker ticker, AtomicInteger compiles)
            implements Engine<KernelDescriptor, CompiledProgram> {
        @Override
        public Target target() {
            return TestEntries.TARGET;
        }

        @Override
        public CompiledProgram create(KernelDescriptor descriptor) {
            if (compiles.getAndIncrement() > 0) { // in any order
                Await.holds(() -> !fleet.keys("/p/").isEmpty());
            } else {
                ticker.pass(KernelRunner.Pulse.PUBLISH_INTERVAL);
            }
            return new CompiledProgram(
                    descriptor,
                    Primitive.Origin.COMPILED,
                    KernelBinaries.of(descriptor.name().getBytes(UTF_8)),
                    Duration.ofSeconds(1),
                    List.of("k"),
                    List.of());
        }

        @Override
        public CompiledProgram create(
                KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
            throw new IllegalStateException("nothing is stored");
        }

        @Override
        public void close() {}
    }

    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    @DisplayName("a program that was compiled is published while others are compiled")
    void publishedMeanwhile(@TempDir Path directory) throws Exception {
        TestTicker ticker = new TestTicker();
        try (TestFleet fleet = new TestFleet(directory);
                Granary granary = fleet.openInPacks("ci");
                PatientEngine engine = new PatientEngine(fleet, ticker, new AtomicInteger())) {
            List<KernelSpec> kernels = new ArrayList<>();
            for (String name : List.of("first", "second")) {
                Path source = Files.writeString(
                        directory.resolve(name + ".cl"), "kernel void k() {} // " + name);
                kernels.add(TestKernels.of(name, source));
            }
            List<KernelResult> results = new KernelRunner(granary, engine)
                    .runAll(
                            kernels,
                            1,
                            new ProgressLine(new PrintWriter(new StringWriter()), "running", 2),
                            new KernelRunner.Pulse(
                                    2,
                                    ticker,
                                    _ -> {},
                                    () -> granary.flush(Duration.ofSeconds(30))));
            assertEquals(
                    List.of(Outcome.COMPILED, Outcome.COMPILED),
                    results.stream().map(KernelResult::outcome).toList());
        }
    }
}
