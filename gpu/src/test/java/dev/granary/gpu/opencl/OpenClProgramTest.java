package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of programs that the application launches itself, with calls of LWJGL. */
@NeedsPocl
class OpenClProgramTest {
    private static final float[] INPUT = SampleKernels.input();

    private final SpyDriver driver = new SpyDriver();

    @AfterEach
    void noObjectsRemain() {
        assertEquals(Map.of(), driver.alive());
    }

    private static KernelDescriptor.Builder sample() {
        return SampleKernels.builder(PoclDevice.get().target());
    }

    private static float[] shifted() {
        float[] values = SampleKernels.input();
        for (int i = 0; i < values.length; i++) {
            values[i] += 2;
        }
        return values;
    }

    @Test
    @DisplayName("A compiled program runs in kernels of the application, and so does one restored"
            + " from its binaries")
    void launches() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine engine = driver.wrap(application)) {
            assertEquals(application.context, engine.context());
            assertEquals(application.queue, engine.queue());
            KernelProgram compiled = engine.create(sample().build());
            KernelBinaries binaries;
            try (OpenClProgram program = engine.program(compiled)) {
                assertEquals(List.of("reverse", "shift"), program.kernels());
                assertArrayEquals(shifted(), application.run(program.handle(), "shift", INPUT));
                program.launched();
                binaries = compiled.getBinaries(BinaryKind.KERNEL);
                assertFalse(binaries.isEmpty());
            }
            KernelProgram restored = engine.create(sample().build(), binaries, BinaryKind.KERNEL);
            try (OpenClProgram program = engine.program(restored)) {
                assertArrayEquals(shifted(), application.run(program.handle(), "shift", INPUT));
            }
            assertEquals(1, driver.compiles());
        }
    }

    @Test
    @DisplayName("The engine's own context and queue run a program of its own")
    void ownEngine() throws Exception {
        OpenClEngine engine = driver.open();
        try (engine;
                OpenClProgram program = engine.program(engine.create(sample().build()))) {
            assertArrayEquals(
                    shifted(),
                    LwjglContext.run(
                            engine.context(), engine.queue(), program.handle(), "shift", INPUT));
        }
        assertThrows(IllegalStateException.class, engine::context);
        assertThrows(IllegalStateException.class, engine::queue);
    }

    @Test
    @DisplayName("A retained handle outlives program and engine; the caller releases it")
    void retained() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder()) {
            OpenClEngine engine = driver.wrap(application);
            KernelProgram primitive = engine.create(sample().build());
            OpenClProgram program = engine.program(primitive);
            long handle = program.retainHandle();
            assertEquals(handle, program.retainHandle());
            LwjglContext.releaseProgram(handle);
            program.close();
            engine.close();
            assertEquals(Map.of(), driver.alive());
            assertEquals(1, LwjglContext.programReferences(handle));
            assertArrayEquals(shifted(), application.run(handle, "shift", INPUT));
            LwjglContext.releaseProgram(handle);
        }
    }

    @Test
    @DisplayName("A closed program gives no handle, while another one of its primitive does")
    void closed() throws Exception {
        OpenClEngine engine = driver.open();
        KernelProgram primitive = engine.create(sample().build());
        OpenClProgram one = engine.program(primitive);
        OpenClProgram other = engine.program(primitive);
        assertEquals(one.handle(), other.handle());
        one.close();
        one.close();
        assertThrows(IllegalStateException.class, one::handle);
        assertThrows(IllegalStateException.class, one::retainHandle);
        assertTrue(other.handle() != 0);
        engine.close();
        assertThrows(IllegalStateException.class, other::handle);
        assertThrows(IllegalStateException.class, other::retainHandle);
        other.close();
        assertThrows(IllegalStateException.class, () -> engine.program(primitive));
    }

    @Test
    @DisplayName("Eight threads share one native program, each with kernels of its own")
    void threads() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine engine = driver.wrap(application);
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            KernelProgram primitive = engine.create(sample().build());
            List<Callable<Boolean>> work = Collections.nCopies(8, () -> {
                long retained;
                try (OpenClProgram program = engine.program(primitive)) {
                    assertArrayEquals(shifted(), application.run(program.handle(), "shift", INPUT));
                    retained = program.retainHandle();
                }
                assertArrayEquals(shifted(), application.run(retained, "shift", INPUT));
                LwjglContext.releaseProgram(retained);
                return true;
            });
            for (Future<Boolean> end : new ArrayList<>(threads.invokeAll(work))) {
                assertTrue(end.get());
            }
            assertEquals(1, driver.created("program"));
        }
    }

    @Test
    @DisplayName("Binaries are taken before own launches if these are announced, or a kernel"
            + " requires a work-group size; else after them")
    void taken() throws Exception {
        String fixed = "kernel __attribute__((reqd_work_group_size(16, 1, 1)))"
                + " void fixed(global float* a) { a[get_global_id(0)] = 1; }";
        try (OpenClEngine engine = driver.open()) {
            AtomicInteger complete = new AtomicInteger();
            KernelProgram announced = engine.create(
                    sample().launch("shift", SampleKernels.SMALL_GROUPS).build());
            announced.onBinariesComplete(complete::incrementAndGet);
            engine.program(announced).close();
            assertEquals(1, complete.get());
            assertEquals(1, driver.calls("programBinary"));

            KernelProgram required =
                    engine.create(KernelDescriptor.builder(engine.target(), "fixed")
                            .source(fixed)
                            .build());
            required.onBinariesComplete(complete::incrementAndGet);
            engine.program(required).close();
            assertEquals(2, complete.get());
            assertEquals(2, driver.calls("programBinary"));

            KernelProgram neither = engine.create(sample().build());
            neither.onBinariesComplete(complete::incrementAndGet);
            try (OpenClProgram program = engine.program(neither)) {
                assertEquals(2, complete.get());
                program.launched();
                program.launched();
            }
            assertEquals(3, complete.get());
            assertEquals(2, driver.calls("programBinary"));
        }
    }

    @Test
    @DisplayName("A binary that the driver refuses is compiled again; without a compiler the"
            + " exception has the build log")
    void refused() throws Exception {
        KernelProgram primitive;
        try (OpenClEngine engine = driver.open()) {
            primitive = engine.create(sample().build());
            primitive.outliveEngine();
        }
        driver.failAfter("createProgramWithBinary", 0);
        driver.failAfter("createProgramWithSource", 0);
        try (OpenClEngine engine = driver.open()) {
            String message = String.valueOf(
                    assertThrows(CompileException.class, () -> engine.program(primitive))
                            .getMessage());
            assertTrue(message.contains("createProgramWithSource"), message);
        }
        driver.failAfter("createProgramWithBinary", 0);
        try (OpenClEngine engine = driver.open();
                OpenClProgram program = engine.program(primitive)) {
            assertArrayEquals(
                    shifted(),
                    LwjglContext.run(
                            engine.context(), engine.queue(), program.handle(), "shift", INPUT));
        }
        assertEquals(2, driver.compiles());
    }
}
