package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.local.EntryFiles;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Tests of the settings that change while a Granary is open. */
class RuntimeSettingsTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor B = FakeDescriptor.of("b");
    private static final Backend BACKEND = TestEntries.TARGET.backend();

    private final TestNode node;
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("x".repeat(300_000));

    RuntimeSettingsTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    private int entries() throws Exception {
        return FakeCatalog.entries(EntryFiles.in(node.config().build().directory()))
                .size();
    }

    /** Looks up without the memory tier. */
    private static PrimitiveSource source(
            Granary granary, FakeEngine engine, FakeDescriptor descriptor) throws Exception {
        granary.setPrimitiveCacheCapacity(0);
        PrimitiveSource source = granary.lookup(engine, descriptor).source();
        assertTrue(granary.flush(TestNode.LONG));
        return source;
    }

    @Test
    @DisplayName("The local capacity is read and set; a lower one evicts at once")
    void capacity() throws Exception {
        try (Granary granary = Granary.open(node.config().capacity("8").build())) {
            assertEquals(OptionalLong.of(8 << 20), granary.localCapacity());
            for (int i = 0; i < 10; i++) {
                granary.primitive(engine, FakeDescriptor.of("program " + i));
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(10, entries());
            granary.setLocalCapacity(1 << 20);
            assertEquals(OptionalLong.of(1 << 20), granary.localCapacity());
            assertTrue(entries() <= 3, "at most 1 MiB is left");
            assertEquals(10 - entries(), granary.statistics().count(Counter.LOCAL_EVICTED));
            assertThrows(IllegalArgumentException.class, () -> granary.setLocalCapacity(-1));
            assertEquals(OptionalLong.of(1 << 20), granary.localCapacity());
        }
    }

    @Test
    @DisplayName(
            "The capacity 0 at run time switches the local tier off and evicts nothing; a later"
                    + " one switches it on")
    void off() throws Exception {
        try (Granary granary = Granary.open(node.config().build())) {
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, A));
            granary.setLocalCapacity(0);
            assertEquals(OptionalLong.of(0), granary.localCapacity());
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, A));
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, B));
            assertEquals(1, entries());
            granary.setLocalCapacity(4 << 20);
            assertEquals(PrimitiveSource.LOCAL, source(granary, engine, A));
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, B));
            assertEquals(2, entries());
        }
    }

    @Test
    @DisplayName("Uploads that another process left are not lost by a local tier that is off")
    void uploadsStay() throws Exception {
        bucket.behavior = FakeBucket.Behavior.IS_DOWN;
        try (Granary granary = node.open("s3://test", Duration.ofMillis(1))) {
            granary.primitive(engine, A);
            granary.flush(TestNode.LONG);
        }
        assertEquals(1, node.sessionFiles("outbox").size());
        bucket.behavior = FakeBucket.Behavior.WORKS;
        try (Granary granary = node.open()) {
            granary.setLocalCapacity(0);
        }
        try (Granary granary = node.open()) {
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(1, bucket.entries.size());
    }

    @Test
    @DisplayName("Settings that cannot change throw, with the alternative")
    void unchangeable() throws Exception {
        try (Granary granary = Granary.open(node.config().capacity("0").build())) {
            assertEquals(OptionalLong.of(0), granary.localCapacity());
            granary.setLocalCapacity(0);
            String message = String.valueOf(
                    assertThrows(IllegalStateException.class, () -> granary.setLocalCapacity(1))
                            .getMessage());
            assertTrue(message.contains("open another one with a capacity"), message);
            assertFalse(Files.exists(node.directory));
            assertEquals(node.directory, granary.localDirectory());
        }
        Granary plugged = Granary.builder()
                .config(node.config().offline().build())
                .local(new FakeBucket())
                .open();
        try (plugged) {
            assertEquals(OptionalLong.empty(), plugged.localCapacity());
            assertThrows(UnsupportedOperationException.class, () -> plugged.setLocalCapacity(1));
        }
        Granary closed = Granary.open(node.config().build());
        closed.close();
        assertThrows(IllegalStateException.class, () -> closed.setLocalCapacity(1));
    }

    @Test
    @DisplayName("Capacity and size of each level in memory are read and set")
    void memory() throws Exception {
        try (Granary granary =
                Granary.open(node.config().primitiveCacheCapacity(7).build())) {
            assertEquals(7, granary.primitiveCacheCapacity());
            granary.primitive(engine, A);
            granary.primitive(engine, B);
            assertEquals(
                    List.of(2, 0),
                    List.of(granary.programCacheSize(), granary.compositeCacheSize()));
            granary.setPrimitiveCacheCapacity(1);
            assertEquals(
                    List.of(1, 1),
                    List.of(granary.programCacheSize(), granary.primitiveCacheCapacity()));
        }
    }

    @Test
    @DisplayName("A disabled engine compiles, neither loads nor stores, and is counted; enabled"
            + " again, it gets the stored entries")
    void enabled() throws Exception {
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, A));
            granary.setEnabled(false);
            assertFalse(granary.isEnabled(BACKEND, EngineKind.GPU));
            int loads = bucket.loads.get();
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, A));
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, B));
            assertEquals(loads, bucket.loads.get());
            assertEquals(1, entries());
            assertEquals(1, bucket.entries.size());
            assertEquals(2, granary.statistics().count(Counter.DISABLED));
            granary.setPrimitiveCacheCapacity(10);
            granary.primitive(engine, B);
            assertEquals(PrimitiveSource.MEMORY, granary.lookup(engine, B).source());
            granary.setEnabled(true);
            assertEquals(PrimitiveSource.LOCAL, source(granary, engine, A));
            assertEquals(PrimitiveSource.COMPILED, source(granary, engine, B));
        }
    }

    /** A kernel engine of a kind, of which each compile fails after it was counted. */
    private record KindEngine(EngineKind kind) implements KernelEngine {
        @Override
        public Target target() {
            return TestEntries.TARGET;
        }

        @Override
        public KernelProgram create(KernelDescriptor descriptor) {
            throw new IllegalStateException("compiled");
        }

        @Override
        public KernelProgram create(KernelDescriptor descriptor, StepProvider steps)
                throws CompileException {
            if (descriptor.name().equals("two steps")) {
                steps.lookup(new FakeEngine("earlier"), A);
            }
            return create(descriptor);
        }

        @Override
        public KernelProgram create(
                KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind binaryKind) {
            throw new IllegalStateException("restored");
        }

        @Override
        public LoadedKernels load(KernelProgram program) {
            throw new UnsupportedOperationException();
        }

        @Override
        public DeviceBuffer buffer(long bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    @Test
    @DisplayName("RFC: \"enable and disable per kind of engine\": each backend and kind has its own"
            + " switch, by code, environment and file")
    void perKind() throws Exception {
        GranaryConfig configured = node.config()
                .environment(Map.of("GRANARY_ENABLED", "cpu:off", "HOME", node.directory + "-home"))
                .build();
        try (Granary granary = Granary.open(configured)) {
            assertFalse(granary.isEnabled(BACKEND, EngineKind.CPU));
            assertTrue(granary.isEnabled(BACKEND, EngineKind.GPU));
            KernelDescriptor descriptor = KernelDescriptor.builder(TestEntries.TARGET, "p")
                    .source("kernel void p() {}")
                    .launch("p", Geometry.of(1))
                    .build();
            for (EngineKind kind : EngineKind.values()) {
                KernelEngine kernels = new KindEngine(kind);
                String message = String.valueOf(assertThrows(
                                IllegalStateException.class,
                                () -> granary.primitive(kernels, descriptor))
                        .getMessage());
                assertEquals("compiled", message);
            }
            assertEquals(1, granary.statistics().count(Counter.DISABLED));
            assertEquals(
                    1,
                    granary.statistics().count(Counter.LOCAL_LOOKUPS)
                            - granary.statistics().count(Counter.LOCAL_HITS));
            granary.setEnabled(BACKEND, EngineKind.CPU, true);
            granary.setEnabled(BACKEND, EngineKind.GPU, false);
            assertTrue(granary.isEnabled(BACKEND, EngineKind.CPU));
            assertFalse(granary.isEnabled(BACKEND, EngineKind.GPU));
            assertTrue(granary.isEnabled(Backend.LEVEL_ZERO, EngineKind.GPU));
        }
    }

    @Test
    @DisplayName("The earlier step of an engine that is enabled by its kind is cached, too")
    void earlierStep() throws Exception {
        KernelDescriptor descriptor = KernelDescriptor.builder(TestEntries.TARGET, "two steps")
                .source("kernel void p() {}")
                .launch("p", Geometry.of(1))
                .build();
        try (Granary granary = node.open()) {
            granary.setEnabled(false);
            granary.setEnabled(BACKEND, EngineKind.GPU, true);
            assertThrows(
                    IllegalStateException.class,
                    () -> granary.primitive(new KindEngine(EngineKind.GPU), descriptor));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, granary.statistics().count(Counter.DISABLED));
            assertEquals(1, bucket.entries.size());
        }
    }

    private boolean[] enabledBy(String text) throws ConfigException {
        try (Granary granary =
                Granary.open(node.config().capacity("0").enabled(text).build())) {
            return new boolean[] {
                granary.isEnabled(Backend.OPENCL, EngineKind.CPU),
                granary.isEnabled(Backend.OPENCL, EngineKind.GPU),
                granary.isEnabled(Backend.LEVEL_ZERO, EngineKind.GPU)
            };
        }
    }

    @Test
    @DisplayName("Texts of the setting: on, off, and parts of which later ones override")
    void texts() throws Exception {
        Map.of(
                        "on", "true true true",
                        " TRUE ", "true true true",
                        "0", "false false false",
                        "off", "false false false",
                        "opencl:off", "false false true",
                        "gpu:off", "true false false",
                        "OpenCL.cpu: off ; level-zero:0", "false true false",
                        "off;opencl.gpu:on", "false true false",
                        "cpu:off,cpu:on", "true true true")
                .forEach((text, expected) -> {
                    try {
                        boolean[] values = enabledBy(text);
                        assertEquals(expected, values[0] + " " + values[1] + " " + values[2], text);
                    } catch (ConfigException e) {
                        throw new AssertionError(text, e);
                    }
                });
        for (String wrong : List.of(
                "maybe",
                "opncl:off", // is near to opencl
                "open cl:off",
                "cuda.tpu:off",
                "cpu",
                "cpu:",
                ":off",
                "cpu:off;",
                "opencl:cpu:off",
                "cpu.opencl:off")) {
            String message = String.valueOf(
                    assertThrows(ConfigException.class, () -> enabledBy(wrong), wrong)
                            .getMessage());
            assertTrue(message.contains("but should be on, off, or parts such as"), message);
        }
    }

    @Test
    @DisplayName("The file has the setting as a truth value, too; a wrong one ends the opening")
    void file() throws Exception {
        Path file = Files.writeString(
                Files.createDirectories(node.directory.resolveSibling("config"))
                        .resolve("config.toml"),
                "enabled = false\n");
        Map<String, String> environment = Map.of("GRANARY_CONFIG", file.toString());
        try (Granary granary =
                Granary.open(node.config().environment(environment).build())) {
            assertFalse(granary.isEnabled(BACKEND, EngineKind.CPU));
        }
        Files.writeString(file, "enabled = 1\n");
        String message = String.valueOf(assertThrows(
                        ConfigException.class,
                        () -> node.config().environment(environment).build())
                .getMessage());
        assertTrue(message.contains("enabled is '1', but should be on, off"), message);
    }
}
