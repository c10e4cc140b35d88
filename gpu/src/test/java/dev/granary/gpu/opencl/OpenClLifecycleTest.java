package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.binding.QueueCalls;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.lwjgl.opencl.CL10;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/**
 * Tests that native objects are released exactly once, for any order of closing and any number of
 * threads.
 */
@NeedsPocl
class OpenClLifecycleTest {
    private static final int THREADS = 8;

    private final SpyBinding spy = new SpyBinding();

    private OpenClEngine open() {
        return OpenClEngine.open(PoclDevice.get(), spy.binding());
    }

    private static KernelDescriptor descriptor(OpenClEngine engine, int number) {
        return KernelDescriptor.builder(engine.target(), "k" + number)
                .source("kernel void k(global int* o) { o[get_global_id(0)] = N; }")
                .options("-DN=" + number)
                .build();
    }

    private static void check(OpenClEngine engine, KernelProgram primitive, int expected)
            throws Exception {
        try (LoadedKernels kernels = engine.load(primitive);
                OpenClBuffer out = engine.buffer(16)) {
            kernels.launch("k", Geometry.of(4).local(4), out);
            int[] result = new int[4];
            out.read(result);
            assertEquals(
                    List.of(expected, expected, expected, expected),
                    java.util.Arrays.stream(result).boxed().toList());
        }
    }

    @Test
    @DisplayName(
            "Create, load, launch, take, restore and close in a loop release each program, kernel"
                    + " and buffer exactly once")
    void noLeaks() throws Exception {
        try (OpenClEngine engine = open()) {
            for (int i = 0; i < 5; i++) {
                KernelProgram compiled = engine.create(descriptor(engine, i));
                check(engine, compiled, i);
                KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
                for (int j = 0; j < 3; j++) {
                    check(
                            engine,
                            engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL),
                            i);
                    check(engine, compiled, i);
                }
                assertEquals(2, spy.alive().size(), "only context and queue stay: " + spy.alive());
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
        assertTrue(
                spy.created("program") >= 30 && spy.created("kernel") >= 50,
                "the loop created objects");
    }

    @Test
    @DisplayName("Eight threads compile, take and restore on one engine, with correct results")
    void concurrently() throws Exception {
        try (OpenClEngine engine = open();
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Callable<Integer>> work = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int number = t % 4; // two threads compile each program
                work.add(() -> {
                    KernelProgram compiled = engine.create(descriptor(engine, number));
                    check(engine, compiled, number);
                    KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
                    for (int i = 0; i < 3; i++) {
                        check(
                                engine,
                                engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL),
                                number);
                    }
                    return number;
                });
            }
            for (Future<Integer> done : threads.invokeAll(work)) {
                done.get();
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("Eight threads load one primitive, while its binaries are taken once")
    void sharedPrimitive() throws Exception {
        try (OpenClEngine engine = open();
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            KernelProgram shared = engine.create(descriptor(engine, 7));
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                boolean takes = t % 2 == 0;
                work.add(() -> {
                    check(engine, shared, 7);
                    return takes && shared.getBinaries(BinaryKind.KERNEL).isEmpty();
                });
            }
            for (Future<Boolean> done : threads.invokeAll(work)) {
                assertEquals(false, done.get());
            }
            assertEquals(1, spy.count("programBinary"));
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("If an engine is closed under eight working threads, each ends with a result or a"
            + " clear exception, and nothing leaks")
    void closedWhileInUse() throws Exception {
        OpenClEngine engine = open();
        KernelProgram compiled = engine.create(descriptor(engine, 3));
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        CountDownLatch working = new CountDownLatch(THREADS);
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> ends = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                ends.add(threads.submit(() -> {
                    check(
                            engine,
                            engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL),
                            3);
                    working.countDown();
                    while (true) {
                        check(
                                engine,
                                engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL),
                                3);
                    }
                }));
            }
            working.await();
            engine.close();
            for (Future<?> end : ends) {
                try {
                    end.get();
                } catch (ExecutionException e) {
                    String cause = String.valueOf(e.getCause());
                    assertTrue(
                            cause.startsWith("java.lang.IllegalStateException")
                                    && cause.contains("closed"),
                            cause);
                }
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    /**
     * Binding that closes a buffer in another thread after a native call has got the handle and
     * before it begins.
     */
    private static final class ClosingBinding extends SpyBinding {
        private static final Set<String> USES =
                Set.of("launch", "writeBuffer", "readBuffer", "createSubBuffer");

        private volatile Runnable action = () -> {};
        private volatile int buffersInUse;

        private void closeNow() {
            Thread other = Thread.ofPlatform().start(action);
            try {
                other.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            buffersInUse = buffers();
        }

        int buffers() {
            return (int) alive().keySet().stream()
                    .filter(key -> key.startsWith("buffer"))
                    .count();
        }

        @Override
        void before(String call) {
            if (USES.contains(call)) {
                closeNow();
            }
        }
    }

    @Test
    @DisplayName("a buffer closed by another thread during a launch, a transfer or a slice is"
            + " released afterwards, once")
    void closedInUse() throws Exception {
        ClosingBinding closing = new ClosingBinding();
        try (OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), closing.binding())) {
            LoadedKernels kernels = engine.load(engine.create(descriptor(engine, 1)));
            List<Consumer<OpenClBuffer>> uses = List.of(
                    buffer -> kernels.launch("k", Geometry.of(4).local(4), buffer),
                    buffer -> buffer.write(new int[4]),
                    buffer -> buffer.read(new int[4]),
                    buffer -> buffer.slice(0, 8192).close());
            for (Consumer<OpenClBuffer> use : uses) {
                OpenClBuffer buffer = engine.buffer(16384);
                closing.action = buffer::close;
                use.accept(buffer);
                assertEquals(1, closing.buffersInUse, "released in use");
                assertEquals(0, closing.buffers(), "not released afterwards");
                closing.action = () -> {};
                assertThrows(IllegalStateException.class, () -> use.accept(buffer));
                buffer.close();
            }
            closing.action = () -> {};
            OpenClBuffer refused = engine.buffer(16);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> kernels.launch("k", Geometry.of(4).local(4), refused, 1));
            refused.close();
            assertEquals(0, closing.buffers());
            kernels.close();

            KernelDescriptor two = KernelDescriptor.builder(engine.target(), "two")
                    .source("kernel void two(global int* o, int n) { o[get_global_id(0)] = n; }")
                    .build();
            try (LoadedKernels more = engine.load(engine.create(two))) {
                OpenClBuffer held = engine.buffer(16);
                assertThrows(
                        IllegalArgumentException.class,
                        () -> more.launch("two", Geometry.of(4).local(4), held, "no number"));
                held.close();
                assertEquals(0, closing.buffers(), "the refused launch does not hold it");

                OpenClBuffer closedEarly = engine.buffer(16);
                closing.action = () -> {
                    closedEarly.close();
                    assertThrows(IllegalStateException.class, () -> closedEarly.slice(0, 4));
                };
                more.launch("two", Geometry.of(4).local(4), closedEarly, 1);
                assertEquals(1, closing.buffersInUse, "released in use");
                assertEquals(
                        0, closing.buffers(), "a request for the closed buffer does not hold it");
            }
        }
        assertEquals(Map.of(), closing.alive());
    }

    /** A driver that reports a failure of each release of a program, as after a lost device. */
    private static final class FailingReleases extends SpyBinding {
        @Override
        ProgramCalls programs() {
            return new Programs() {
                @Override
                public void releaseProgram(long program) {
                    super.releaseProgram(program);
                    throw new DriverException("lost", CL10.CL_OUT_OF_RESOURCES);
                }
            };
        }
    }

    @Test
    @DisplayName("If the driver fails to release the queue, the engine releases its context")
    void queueFails() {
        ClBinding spied = spy.binding();
        QueueCalls failing = new QueueCalls() {
            @Override
            public void releaseQueue(long queue) {
                super.releaseQueue(queue);
                throw new DriverException("lost", CL10.CL_OUT_OF_RESOURCES);
            }
        };
        OpenClEngine engine = OpenClEngine.open(
                PoclDevice.get(),
                new ClBinding(spied.devices(), spied.programs(), spied.memory(), failing));
        assertThrows(DriverException.class, engine::close);
        assertEquals(Map.of(), spy.alive());
    }

    @Test
    @DisplayName("If the driver fails to release a program, the engine releases all else when it"
            + " closes, also its constants")
    void releaseFails() throws Exception {
        SpyBinding failing = new FailingReleases();
        OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), failing.binding());
        try (ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE)) {
            OpenClConstants constants = new OpenClConstants(caches, engine);
            constants.get("key", 16, () -> engine.buffer(16)).close();
            engine.create(descriptor(engine, 1));
            engine.create(descriptor(engine, 2));
            assertThrows(DriverException.class, engine::close);
            assertEquals(Map.of(), failing.alive());
            assertEquals(0, caches.statistics().bytes());
        }
    }
}
