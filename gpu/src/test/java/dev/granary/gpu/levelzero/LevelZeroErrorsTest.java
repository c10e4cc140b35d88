package dev.granary.gpu.levelzero;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of failures of a driver: exceptions with call and code, and no objects that stay. */
@NeedsTestDriver
class LevelZeroErrorsTest {
    private static final int COUNT = 64;

    private TestDriver driver;
    private LevelZeroDevice device;

    @BeforeEach
    void find() {
        driver = TestDriver.get();
        device = LevelZero.devices().getFirst();
    }

    @AfterEach
    void restoreSettings() {
        driver.fail("");
        for (String setting :
                new String[] {"DRIVER_VERSION", "NO_BINARY", "SUGGEST", "COMPILE_MILLIS"}) {
            driver.set("GRANARY_ZE_" + setting, "");
        }
        Await.holds(() -> driver.liveObjects() == 0);
        driver.assertNoViolation();
    }

    private LevelZeroEngine open() {
        return LevelZeroEngine.open(device, VectorPrograms.COMPILER);
    }

    private KernelDescriptor vectors() {
        return VectorPrograms.vectors(device.target(), 1).build();
    }

    @Test
    @DisplayName("a driver that reports no version of SPIR-V gets no module of the application")
    void noSpirv() {
        assertEquals(List.of(), device.intermediateLanguages());
        KernelDescriptor module = KernelDescriptor.builder(device.target(), "sample")
                .spirv(SampleBinaries.bytes("saxpy.spv"))
                .build();
        try (LevelZeroEngine engine = open()) {
            assertEquals(
                    "sample does not compile: " + device
                            + " takes no SPIR-V, only OpenCL C: give this device sources",
                    assertThrows(CompileException.class, () -> engine.create(module))
                            .getMessage());
        }
    }

    private static float[] doubled(LevelZeroEngine engine, LoadedKernels kernels) {
        float[] content = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            content[i] = i;
        }
        try (DeviceBuffer in = engine.buffer(COUNT * Float.BYTES);
                DeviceBuffer out = engine.buffer(COUNT * Float.BYTES)) {
            in.writeFrom(MemorySegment.ofArray(content));
            kernels.launch("scale", Geometry.of(COUNT), in, out, 2f);
            out.readTo(MemorySegment.ofArray(content));
        }
        return content;
    }

    private static void assertDoubles(LevelZeroEngine engine, KernelProgram primitive)
            throws RestoreException {
        try (LoadedKernels kernels = engine.load(primitive)) {
            float[] result = doubled(engine, kernels);
            assertEquals(2f * (COUNT - 1), result[COUNT - 1]);
        }
    }

    /** Uses every call once: open, compile, restore, load, launch, transfer. */
    private void useEverything() throws CompileException, RestoreException {
        try (LevelZeroEngine engine = open()) {
            KernelProgram compiled = engine.create(vectors());
            KernelProgram restored = engine.create(
                    vectors(), compiled.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            assertDoubles(engine, restored);
            assertDoubles(engine, compiled);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "zeContextCreate",
                "zeMemAllocDevice",
                "zeModuleCreate",
                "zeModuleGetKernelNames",
                "zeKernelCreate",
                "zeKernelGetProperties",
                "zeKernelSetGroupSize",
                "zeKernelSuggestGroupSize",
                "zeKernelSetArgumentValue",
                "zeCommandListCreateImmediate",
                "zeCommandListAppendLaunchKernel",
                "zeCommandListAppendMemoryCopy",
                "zeDeviceGetCommandQueueGroupProperties"
            })
    @DisplayName("A failure of each call throws with its name and code, and leaves no objects")
    void eachCall(String call) throws Exception {
        useEverything();
        driver.fail(call + "=0x70000002*1");
        Exception failure = assertThrows(Exception.class, this::useEverything);
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(call), message);
        assertTrue(
                message.contains("failed with 0x70000002 (ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)"),
                message);
        assertFalse(failure instanceof IllegalStateException, failure.toString());
        useEverything();
    }

    @ParameterizedTest
    @ValueSource(strings = {"zeDriverGet", "zeDeviceGet", "zeDeviceGetProperties"})
    @DisplayName("A failure of a query of devices names the call")
    void queries(String call) {
        driver.fail(call + "=0x7ffffffe*1");
        DriverException failure = assertThrows(DriverException.class, LevelZero::probe);
        assertEquals(0x7ffffffe, failure.code());
        assertTrue(String.valueOf(failure.getMessage())
                .equals(call + " failed with 0x7ffffffe (ZE_RESULT_ERROR_UNKNOWN)"));
    }

    @Test
    @DisplayName("A loader that cannot initialize is a value with call and code")
    void notInitialized() {
        driver.fail("zeInit=0x70020000*1");
        LevelZero.Probe.Missing missing = (LevelZero.Probe.Missing) LevelZero.probe();
        assertTrue(
                missing.cause().contains("0x70020000 (ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)"),
                missing.cause());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "zeKernelDestroy",
                "zeModuleDestroy",
                "zeMemFree",
                "zeCommandListDestroy",
                "zeModuleBuildLogDestroy"
            })
    @DisplayName("A driver that refuses to destroy an object does not disturb the program")
    void refusedDestruction(String call) throws Exception {
        // a status without an effect: the object is destroyed by the second try of the test
        driver.fail(call + "=0x70000001*1");
        long live = driver.liveObjects();
        useEverything();
        assertEquals(live + 1, driver.liveObjects(), "only the object that was refused is left");
        driver.forget();
    }

    @Test
    @DisplayName("A launch that loses the device throws; other launches of the engine go on")
    void deviceLost() throws Exception {
        try (LevelZeroEngine engine = open();
                DeviceBuffer buffer = engine.buffer(COUNT * Float.BYTES)) {
            KernelProgram failing =
                    engine.create(VectorPrograms.of(device.target(), "kernel lose buffer\n  fail\n")
                            .build());
            KernelProgram working = engine.create(vectors());
            for (int i = 0; i < 20; i++) {
                try (LoadedKernels kernels = engine.load(failing)) {
                    DriverException lost = assertThrows(
                            DriverException.class,
                            () -> kernels.launch("lose", Geometry.of(1), buffer));
                    assertEquals(0x70000001, lost.code());
                }
                assertDoubles(engine, working);
            }
        }
    }

    @Test
    @DisplayName("a binary that the driver compiles again is a degraded hit, with new binaries")
    void recompiled() throws Exception {
        try (LevelZeroEngine engine = open()) {
            KernelBinaries old = engine.create(vectors()).getBinaries(BinaryKind.KERNEL);
            driver.set("GRANARY_ZE_DRIVER_VERSION", "0x01020004");
            KernelProgram again = engine.create(vectors(), old, BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.RECOMPILED, again.origin());
            KernelBinaries made = again.getBinaries(BinaryKind.KERNEL);
            assertNotEquals(old, made);
            assertEquals(
                    Primitive.Origin.RESTORED,
                    engine.create(vectors(), made, BinaryKind.KERNEL).origin());
            assertDoubles(engine, again);
        }
    }

    @Test
    @DisplayName("an engine that compiles a cached primitive again reports it, and once only")
    void compiledAgain() throws Exception {
        KernelProgram primitive;
        try (LevelZeroEngine first = open()) {
            primitive = first.create(vectors());
        }
        AtomicInteger reports = new AtomicInteger();
        primitive.onCompiledAgain(reports::incrementAndGet);
        driver.fail("zeModuleCreate=0x7800000f*1");
        try (LevelZeroEngine next = open()) {
            assertDoubles(next, primitive);
            assertDoubles(next, primitive);
        }
        assertEquals(1, reports.get());
        driver.set("GRANARY_ZE_DRIVER_VERSION", "0x01020004");
        try (LevelZeroEngine newer = open()) {
            assertDoubles(newer, primitive);
        }
        assertEquals(2, reports.get());
        try (LevelZeroEngine newer = open()) {
            assertDoubles(newer, primitive);
        }
        assertEquals(2, reports.get(), "the new binaries fit");
    }

    @Test
    @DisplayName("without a native binary there is none, and the primitive still loads")
    void noBinary() throws Exception {
        driver.set("GRANARY_ZE_NO_BINARY", "1");
        KernelProgram primitive;
        try (LevelZeroEngine engine = open()) {
            primitive = engine.create(vectors());
            assertTrue(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
            assertDoubles(engine, primitive);
        }
        driver.set("GRANARY_ZE_NO_BINARY", "");
        driver.fail("zeModuleGetNativeBinary=0x78000003*1");
        try (LevelZeroEngine engine = open()) {
            assertDoubles(engine, primitive); // compiled again; the query fails
            assertTrue(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
        }
    }

    @Test
    @DisplayName("Damaged binaries are refused with the build log of the driver")
    void damaged() throws Exception {
        try (LevelZeroEngine engine = open()) {
            byte[] bytes = engine.create(vectors())
                    .getBinaries(BinaryKind.KERNEL)
                    .toByteArrays()
                    .getFirst();
            for (int i = 0; i < bytes.length; i += 7) {
                byte[] damaged = bytes.clone();
                damaged[i] ^= 4;
                if (bytes[i] == ' ' || i < 30) {
                    continue; // scanf accepts other white space; the driver's version may differ
                }
                RestoreException refused = assertThrows(
                        RestoreException.class,
                        () -> engine.create(
                                vectors(), KernelBinaries.of(damaged), BinaryKind.KERNEL),
                        "byte " + i);
                String message = String.valueOf(refused.getMessage());
                assertTrue(message.contains("0x7800000f"), message);
                assertTrue(message.contains("the binary is damaged"), message);
            }
        }
    }

    @Test
    @DisplayName("A group size suggested by the driver need not divide the work-items")
    void suggestion() throws Exception {
        try (LevelZeroEngine engine = open()) {
            KernelProgram primitive = engine.create(vectors());
            for (String size : new String[] {"7", "0", "48", "1000"}) {
                driver.set("GRANARY_ZE_SUGGEST", size);
                assertDoubles(engine, primitive);
            }
        }
    }

    @Test
    @DisplayName("Options that begin with -ze- go to the driver, which may refuse them")
    void options() throws Exception {
        try (LevelZeroEngine engine = open()) {
            CompileException refused = assertThrows(
                    CompileException.class,
                    () -> engine.create(VectorPrograms.vectors(device.target(), 1)
                            .options("-ze-unknown")
                            .build()));
            assertTrue(refused.buildLog().contains("unknown option: -ze-unknown"));
            engine.create(VectorPrograms.vectors(device.target(), 1)
                    .options("-DNAME=unknown")
                    .build());
        }
    }

    @Test
    @DisplayName("The compile time includes the time of the driver")
    void compileTime() throws Exception {
        driver.set("GRANARY_ZE_COMPILE_MILLIS", "30");
        try (LevelZeroEngine engine = open()) {
            KernelProgram primitive = engine.create(vectors());
            assertTrue(primitive.compileTime().compareTo(Duration.ofMillis(30)) >= 0);
        }
    }

    @Test
    @DisplayName("The module of a cached program that is no longer used is destroyed")
    void unreachable() throws Exception {
        try (LevelZeroEngine engine = open()) {
            long before = driver.liveObjects();
            loadAndForget(engine);
            assertTrue(driver.liveObjects() > before);
            long lists = driver.liveObjects() - before - 1;
            Await.collected(() -> driver.liveObjects() == before + lists);
        }
    }

    private void loadAndForget(LevelZeroEngine engine) throws Exception {
        KernelProgram program = engine.create(vectors());
        program.outliveEngine();
        assertDoubles(engine, program);
    }
}
