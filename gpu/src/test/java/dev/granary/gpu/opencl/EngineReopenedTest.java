package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tests of primitives that outlive their engine: compiled once, loaded into engines that open and
 * close.
 */
@NeedsPocl
class EngineReopenedTest {
    private final SpyDriver driver = new SpyDriver();
    private final AtomicInteger compiledAgain = new AtomicInteger();
    private WeakReference<OpenClEngine> opened = new WeakReference<>(null);

    @AfterEach
    void noObjectsRemain() {
        assertEquals(Map.of(), driver.alive());
    }

    private static KernelDescriptor.Builder sample(OpenClEngine engine) {
        return SampleKernels.builder(engine.target());
    }

    private KernelProgram createAndClose(boolean isCacheable) throws Exception {
        try (OpenClEngine engine = driver.open()) {
            opened = new WeakReference<>(engine);
            KernelDescriptor.Builder sample = sample(engine);
            KernelProgram primitive = engine.create(
                    isCacheable
                            ? sample.build()
                            : sample.header("clock.clh", "#define NOW __TIME__").build());
            primitive.outliveEngine();
            primitive.onCompiledAgain(compiledAgain::incrementAndGet);
            return primitive;
        }
    }

    private void runInNewEngine(KernelProgram primitive) throws Exception {
        try (OpenClEngine engine = driver.open();
                LoadedKernels kernels = engine.load(primitive)) {
            SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
        }
    }

    @Test
    @DisplayName(
            "A primitive whose first engine is closed at once runs on every later engine without"
                    + " compiling")
    void closedAtOnce() throws Exception {
        KernelProgram primitive = createAndClose(true);
        assertEquals(1, driver.calls("programBinary"), "taken when the engine closed");
        for (int i = 0; i < 20; i++) {
            runInNewEngine(primitive);
        }
        assertEquals(1, driver.compiles());
        assertEquals(20, driver.restores());
        assertEquals(0, compiledAgain.get());
        assertFalse(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
    }

    @Test
    @DisplayName("a primitive with the empty id runs on later engines without compiling, and"
            + " returns no binaries")
    void notCacheable() throws Exception {
        KernelProgram primitive = createAndClose(false);
        assertTrue(primitive.descriptor().getId().isEmpty());
        for (int i = 0; i < 5; i++) {
            runInNewEngine(primitive);
        }
        assertEquals(1, driver.compiles());
        assertEquals(0, compiledAgain.get());
        assertTrue(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
    }

    @Test
    @DisplayName("Two contexts share one compile, and both compute correctly")
    void twoContexts() throws Exception {
        try (OpenClEngine first = driver.open();
                OpenClEngine second = driver.open()) {
            KernelProgram primitive = first.create(sample(first).build());
            try (LoadedKernels here = first.load(primitive);
                    LoadedKernels there = second.load(primitive)) {
                SampleKernels.checkReverse(first, here, SampleKernels.SMALL_GROUPS);
                SampleKernels.checkReverse(second, there, SampleKernels.SMALL_GROUPS);
            }
        }
        assertEquals(1, driver.compiles());
        assertEquals(1, driver.restores());
    }

    @Test
    @DisplayName("A primitive that no cache holds adds no work to closing its engine; a later load"
            + " compiles it again and reports that")
    void notKept() throws Exception {
        KernelProgram primitive;
        try (OpenClEngine engine = driver.open()) {
            primitive = engine.create(sample(engine).build());
            primitive.onCompiledAgain(compiledAgain::incrementAndGet);
        }
        assertEquals(0, driver.calls("programBinary"));
        Duration first = primitive.compileTime();
        for (int i = 0; i < 3; i++) {
            runInNewEngine(primitive);
        }
        assertEquals(2, driver.compiles(), "again, and kept then");
        assertEquals(1, compiledAgain.get());
        assertTrue(primitive.compileTime().compareTo(first) > 0, "the compile time is added");
    }

    @Test
    @DisplayName("with a driver that provides no binaries, each engine compiles once for all its"
            + " loads, and reports it")
    void noBinaries() throws Exception {
        driver.withholdBinaries();
        KernelProgram primitive = createAndClose(true);
        for (int i = 1; i <= 3; i++) {
            try (OpenClEngine engine = driver.open()) {
                for (int j = 0; j < 3; j++) {
                    try (LoadedKernels kernels = engine.load(primitive)) {
                        SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
                    }
                }
            }
            assertEquals(1 + i, driver.compiles());
            assertEquals(i, compiledAgain.get());
        }
    }

    @Test
    @DisplayName("if the driver refuses binaries from memory, the program is compiled again once,"
            + " and that is reported")
    void refused() throws Exception {
        KernelProgram primitive = createAndClose(true);
        driver.failAfter("createProgramWithBinary", 0);
        for (int i = 0; i < 3; i++) {
            runInNewEngine(primitive);
        }
        assertEquals(2, driver.compiles());
        assertEquals(1, compiledAgain.get());
    }

    @Test
    @DisplayName(
            "Without binaries and a compiler, the exception names both, nothing is retained, and"
                    + " the next load works")
    void neitherBinariesNorCompiler() throws Exception {
        KernelProgram primitive = createAndClose(true);
        driver.failAfter("createProgramWithBinary", 0);
        driver.failAfter("createProgramWithSource", 0);
        try (OpenClEngine engine = driver.open()) {
            String message = String.valueOf(
                    assertThrows(RestoreException.class, () -> engine.load(primitive))
                            .getMessage());
            assertTrue(
                    message.contains("no binaries") && message.contains("createProgramWithSource"),
                    message);
        }
        runInNewEngine(primitive);
        assertEquals(0, compiledAgain.get());
    }

    @Test
    @DisplayName("A failure to take binaries does not prevent closing the engine")
    void takingFails() throws Exception {
        ProgramCalls failing = new ProgramCalls() {
            @Override
            public MemorySegment programBinary(long program, long device) {
                throw new DriverException("clGetProgramInfo failed", -5);
            }
        };
        OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), SpyBinding.with(failing));
        KernelProgram primitive = engine.create(sample(engine).build());
        primitive.outliveEngine();
        engine.close();
        assertThrows(IllegalStateException.class, () -> engine.buffer(4));
        runInNewEngine(primitive);
        assertEquals(1, driver.compiles());
    }

    @Test
    @DisplayName(
            "A cached primitive is restored once per engine for any number of loads, and released"
                    + " with the engine")
    void restoredOnce() throws Exception {
        KernelProgram primitive = createAndClose(true);
        for (int i = 1; i <= 3; i++) {
            try (OpenClEngine engine = driver.open()) {
                for (int j = 0; j < 10; j++) {
                    try (LoadedKernels one = engine.load(primitive);
                            LoadedKernels other = engine.load(primitive)) {
                        SampleKernels.checkReverse(engine, one, SampleKernels.SMALL_GROUPS);
                        SampleKernels.checkReverse(engine, other, SampleKernels.SMALL_GROUPS);
                    }
                    assertEquals(
                            List.of(0L, 1L),
                            List.of(driver.alive("kernel"), driver.alive("program")));
                }
            }
            assertEquals(i, driver.restores());
            assertEquals(0, driver.alive("program"));
        }
    }

    @Test
    @DisplayName(
            "Eight threads load one primitive into their own engines and into one that closes: no"
                    + " other compile, no leaks")
    void threads() throws Exception {
        KernelProgram primitive = createAndClose(true);
        OpenClEngine shared = driver.open();
        CountDownLatch working = new CountDownLatch(8);
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Future<?>> ends = new ArrayList<>();
            for (int t = 0; t < 8; t++) {
                ends.add(threads.submit(() -> {
                    for (int i = 0; i < 5; i++) {
                        try (LoadedKernels kernels = shared.load(primitive)) {
                            SampleKernels.checkReverse(shared, kernels, SampleKernels.SMALL_GROUPS);
                        } catch (IllegalStateException e) {
                            assertTrue(
                                    String.valueOf(e.getMessage()).contains("closed"),
                                    e.getMessage());
                        } finally {
                            working.countDown();
                        }
                        runInNewEngine(primitive);
                    }
                    return true;
                }));
            }
            working.await();
            shared.close();
            for (Future<?> end : ends) {
                end.get();
            }
        }
        assertEquals(1, driver.compiles());
    }

    @Test
    @DisplayName(
            "The native program of an unreachable primitive is released while its engine is open")
    void releasedWithThePrimitive() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            loadAndForget(engine);
            assertEquals(1, driver.restores());
            Await.collected(() -> driver.alive("program") == 0);
        }
    }

    private void loadAndForget(OpenClEngine engine) throws Exception {
        KernelProgram primitive = createAndClose(true);
        engine.load(primitive).close();
        assertEquals(1, driver.alive("program"));
    }

    private KernelProgram restoreAndClose(KernelProgram from) throws Exception {
        try (OpenClEngine engine = driver.open()) {
            opened = new WeakReference<>(engine);
            KernelProgram restored = engine.create(
                    from.descriptor(), from.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            restored.outliveEngine();
            return restored;
        }
    }

    private void awaitCollected() {
        Await.collected(() -> opened.refersTo(null));
    }

    @Test
    @DisplayName(
            "A primitive retains no closed engine, whether it was compiled, or restored and never"
                    + " loaded")
    void engineIsCollected() throws Exception {
        KernelProgram compiled = createAndClose(true);
        awaitCollected();
        KernelProgram restored = restoreAndClose(compiled);
        awaitCollected();
        runInNewEngine(compiled);
        runInNewEngine(restored);
        assertEquals(1, driver.compiles());
        assertEquals(1, driver.calls("programBinary"));
    }
}
