package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.lwjgl.BufferUtils;
import org.lwjgl.opencl.CL10;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of engines over a context and a queue that the application created with LWJGL. */
@NeedsPocl
class WrappedEngineTest {
    private static final int COUNT = SampleKernels.COUNT;

    @Test
    @DisplayName("an engine over the application's context has the ids of other engines, and"
            + " restores their binaries")
    void sharesEntries() throws Exception {
        SpyBinding spy = new SpyBinding();
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine own = OpenClEngine.open(PoclDevice.get());
                OpenClEngine wrapped = application.wrap(spy.binding())) {
            assertEquals(own.target(), wrapped.target());
            KernelDescriptor descriptor =
                    SampleKernels.builder(wrapped.target()).build();
            assertEquals(SampleKernels.builder(own.target()).build().getId(), descriptor.getId());
            KernelProgram built = own.create(descriptor);
            KernelProgram restored = wrapped.create(
                    descriptor, built.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            try (LoadedKernels kernels = wrapped.load(restored)) {
                SampleKernels.checkReverse(wrapped, kernels, SampleKernels.SMALL_GROUPS);
            }
            assertEquals(0, spy.count("createProgramWithSource"));

            KernelProgram compiled = wrapped.create(descriptor);
            KernelProgram taken = own.create(
                    descriptor, compiled.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            try (LoadedKernels kernels = own.load(taken)) {
                SampleKernels.checkReverse(own, kernels, SampleKernels.SMALL_GROUPS);
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName(
            "Closing the engine releases what it retained, and leaves context and queue usable")
    void applicationUsesItAfterwards() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder()) {
            long memory = application.buffer(4L * COUNT);
            for (int i = 0; i < 3; i++) {
                try (OpenClEngine engine = application.wrap()) {
                    assertTrue(application.retainedByOthers() > 0);
                    runShift(engine);
                }
                Await.holds(() -> application.retainedByOthers() <= 1); // the buffer
            }
            LwjglContext.release(application.write(memory, floats(SampleKernels.input())));
            assertArrayEquals(SampleKernels.input(), application.read(memory, COUNT, 0));
            CL10.clReleaseMemObject(memory);
            Await.holds(() -> application.retainedByOthers() == 0);
        }
    }

    @Test
    @DisplayName("The engine keeps context and queue after the application has released them")
    void applicationReleasesFirst() throws Exception {
        SpyBinding spy = new SpyBinding();
        LwjglContext application = LwjglContext.inOrder();
        OpenClEngine engine = application.wrap(spy.binding());
        application.close();
        runShift(engine);
        engine.close();
        engine.close();
        Await.holds(() -> spy.alive().isEmpty());
        assertThrows(IllegalStateException.class, () -> engine.buffer(4));
    }

    @Test
    @DisplayName("Two engines over one context, in eight threads, close in any order")
    void threads() throws Exception {
        SpyBinding spy = new SpyBinding();
        try (LwjglContext application = LwjglContext.inOrder();
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            KernelDescriptor descriptor =
                    SampleKernels.builder(PoclDevice.get().target()).build();
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int t = 0; t < 16; t++) {
                boolean closesFirst = t % 2 == 0;
                work.add(() -> {
                    OpenClEngine one = application.wrap(spy.binding());
                    try (OpenClEngine other = application.wrap(spy.binding())) {
                        KernelProgram primitive = one.create(descriptor);
                        primitive.outliveEngine();
                        if (closesFirst) {
                            one.close();
                        }
                        try (LoadedKernels kernels = other.load(primitive)) {
                            SampleKernels.checkReverse(other, kernels, SampleKernels.SMALL_GROUPS);
                        }
                    }
                    one.close();
                    return true;
                });
            }
            for (Future<Boolean> end : threads.invokeAll(work)) {
                assertTrue(end.get());
            }
            Await.holds(() -> spy.alive().isEmpty());
            Await.holds(() -> application.retainedByOthers() == 0);
        }
    }

    @Test
    @DisplayName("Handles that are missing, swapped or do not belong together are refused before"
            + " anything is retained")
    void wrongHandles() {
        SpyBinding spy = new SpyBinding();
        try (LwjglContext one = LwjglContext.inOrder();
                LwjglContext other = LwjglContext.inOrder()) {
            long context = one.context;
            long device = one.device;
            long queue = one.queue;
            Map<List<Long>, String> wrong = Map.ofEntries(
                    Map.entry(List.of(0L, device, queue), "The context (cl_context) is 0"),
                    Map.entry(List.of(context, 0L, queue), "The device (cl_device_id) is 0"),
                    Map.entry(List.of(context, device, 0L), "The queue (cl_command_queue) is 0"),
                    Map.entry(List.of(device, context, queue), "is the handle of a device"),
                    Map.entry(List.of(queue, context, device), "is the handle of a device"),
                    Map.entry(List.of(context, queue, device), "is the handle of a device"),
                    Map.entry(List.of(device, queue, context), "is the handle of a device"),
                    Map.entry(List.of(queue, device, context), "The queue belongs to the context"),
                    Map.entry(List.of(context, device, context), "the same handle"),
                    Map.entry(List.of(context, device, other.queue), "belongs to the context"),
                    Map.entry(List.of(other.context, device, queue), "belongs to the context"),
                    Map.entry(List.of(context, device + 64, queue), "belongs to the device"));
            wrong.forEach((handles, expected) -> {
                IllegalArgumentException refused = assertThrows(
                        IllegalArgumentException.class,
                        () -> OpenClEngine.wrap(
                                handles.get(0), handles.get(1), handles.get(2), spy.binding()),
                        expected);
                String message = String.valueOf(refused.getMessage());
                assertTrue(message.contains(expected), message);
            });
            assertEquals(0, one.retainedByOthers());
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("a sub-device of the application has its main device's target, and stays open"
            + " while the engine uses it")
    void subDevice() throws Exception {
        OpenClDevice main = PoclDevice.get();
        assumeTrue(main.computeUnits() > 1, "a device of one compute unit cannot be split");
        long part = main.split(1).getFirst().handle();
        SpyBinding spy = new SpyBinding();
        LwjglContext application = LwjglContext.on(part);
        OpenClEngine engine = application.wrap(spy.binding());
        assertEquals(1, spy.created("device"));
        assertEquals(main.target(), engine.target());
        assertEquals(main.index(), engine.device().index());
        application.close();
        runShift(engine);
        engine.close();
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("Launches use buffers of the application, and the application uses the engine's")
    void buffers() throws Exception {
        SpyBinding spy = new SpyBinding();
        try (LwjglContext application = LwjglContext.inOrder();
                LwjglContext stranger = LwjglContext.inOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                LoadedKernels kernels = engine.load(
                        engine.create(SampleKernels.builder(engine.target()).build()))) {
            long in = application.buffer(4L * COUNT);
            LwjglContext.release(application.write(in, floats(SampleKernels.input())));
            OpenClBuffer from = engine.wrapBuffer(in);
            CL10.clReleaseMemObject(in); // the engine keeps it
            assertEquals(4L * COUNT, from.byteSize());
            try (OpenClBuffer into = engine.buffer(4L * COUNT)) {
                kernels.launch("shift", SampleKernels.SMALL_GROUPS, from, into);
                assertArrayEquals(shifted(), application.read(into.handle(), COUNT, 0));
                from.close();
                assertThrows(IllegalStateException.class, from::handle);
                try (OpenClBuffer whole = engine.wrapBuffer(into.handle());
                        OpenClBuffer slice = whole.slice(0, 512);
                        OpenClBuffer part = engine.wrapBuffer(slice.handle())) {
                    assertEquals(512, part.byteSize());
                    assertThrows(IllegalArgumentException.class, () -> part.slice(0, 4));
                }
            }
            assertThrows(IllegalArgumentException.class, () -> engine.wrapBuffer(0));
            long foreign = stranger.buffer(16);
            assertThrows(IllegalArgumentException.class, () -> engine.wrapBuffer(foreign));
            CL10.clReleaseMemObject(foreign);
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("A blocking launch waits for itself only, not for other commands of the"
            + " application's queue")
    void independentOfOtherCommands() throws Exception {
        try (LwjglContext application = LwjglContext.outOfOrder();
                OpenClEngine engine = application.wrap();
                LoadedKernels kernels = engine.load(
                        engine.create(SampleKernels.builder(engine.target()).build()));
                // before the gate: PoCL's blocking transfers wait for the whole queue
                OpenClBuffer from = engine.bufferOf(SampleKernels.input());
                OpenClBuffer into = engine.buffer(4L * COUNT);
                LwjglContext.Gate gate = application.gate()) {
            long waiting = application.marker(gate);
            kernels.launch("shift", SampleKernels.SMALL_GROUPS, from, into);
            gate.open();
            LwjglContext.release(waiting);
            float[] out = new float[COUNT];
            into.read(out);
            assertArrayEquals(shifted(), out);
        }
    }

    @Test
    @DisplayName("A launch throws the failure of its execution, or its refusal, and holds nothing")
    void failedLaunches() throws Exception {
        SpyBinding spy = new SpyBinding();
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                OpenClBuffer data = engine.bufferOf(SampleKernels.input());
                LwjglContext.Gate gate = application.gate()) {
            KernelProgram primitive =
                    engine.create(KernelDescriptor.builder(engine.target(), "fixed")
                            .source("kernel __attribute__((reqd_work_group_size(16, 1, 1)))"
                                    + " void fixed(global float* a) { a[get_global_id(0)] = 5; }")
                            .build());
            try (LoadedKernels kernels = engine.load(primitive);
                    ExecutorService threads = Executors.newSingleThreadExecutor()) {
                assertThrows(
                        DriverException.class,
                        () -> kernels.launch("fixed", SampleKernels.LARGE_GROUPS, data));
                application.marker(gate); // stays: PoCL up to 6 aborts at a failed marker's release
                Future<DriverException> launch = threads.submit(() -> assertThrows(
                        DriverException.class,
                        () -> kernels.launch("fixed", SampleKernels.SMALL_GROUPS, data)));
                Await.holds(() -> spy.created("event") == 1);
                gate.fail();
                DriverException failure = launch.get();
                assertTrue(
                        String.valueOf(failure.getMessage())
                                .startsWith("A kernel failed with execution status"),
                        failure.getMessage());
                assertTrue(failure.code() < 0);
                kernels.launch("fixed", SampleKernels.SMALL_GROUPS, data);
                float[] out = new float[COUNT];
                data.read(out);
                assertEquals(5, out[COUNT - 1]);
            }
            // the launch lock is free again
            assertFalse(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
        }
        // the events of failed commands are released a second later
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("an engine for each device of one context: own targets, binaries,"
            + " results and constants")
    void contextOfTwoDevices(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(TwoDevicesContextProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", "pthread basic"))
                .run()
                .output();
        String expected = String.valueOf(
                Arrays.hashCode(SampleKernels.reversed(SampleKernels.SMALL_GROUPS, 2)));
        for (String engine : List.of("0", "1")) {
            assertEquals(expected, DriverProcess.value(output, "compiled" + engine), output);
            assertEquals(expected, DriverProcess.value(output, "restored" + engine), output);
        }
        assertEquals("false", DriverProcess.value(output, "sameTarget"));
        assertEquals("[1, 1]", DriverProcess.value(output, "entries"), "a cache for each device");
        assertEquals("2", DriverProcess.value(output, "made"), "the other device does not hit");
        assertTrue(
                DriverProcess.value(output, "swapped").contains("belongs to the device"), output);
    }

    private static void runShift(OpenClEngine engine) throws Exception {
        KernelProgram primitive =
                engine.create(SampleKernels.builder(engine.target()).build());
        try (LoadedKernels kernels = engine.load(primitive)) {
            assertArrayEquals(shifted(), SampleKernels.shift(engine, kernels));
        }
    }

    private static float[] shifted() {
        float[] values = SampleKernels.input();
        for (int i = 0; i < values.length; i++) {
            values[i] += 2;
        }
        return values;
    }

    private static FloatBuffer floats(float[] values) {
        return BufferUtils.createFloatBuffer(values.length).put(values).flip();
    }
}
