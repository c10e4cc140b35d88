package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Native objects are released exactly once, whoever closes what, and from however many threads. */
@NeedsPocl
class OpenClLifecycleTest {
    private static final int THREADS = 8;

    private final SpyBinding spy = new SpyBinding();

    private OpenClEngine open() {
        return OpenClEngine.open(PoclDevice.get(), spy);
    }

    private static KernelDescriptor descriptor(OpenClEngine engine, int number) {
        return KernelDescriptor.builder(engine.target(), "k" + number)
                .source("kernel void k(global int* o) { o[get_global_id(0)] = N; }").options("-DN=" + number).build();
    }

    private static void check(OpenClEngine engine, OpenClPrimitive primitive, int expected) throws Exception {
        try (OpenClKernels kernels = engine.load(primitive); OpenClBuffer out = engine.buffer(16)) {
            kernels.launch("k", Geometry.of(4).local(4), out);
            int[] result = new int[4];
            out.read(result);
            assertEquals(List.of(expected, expected, expected, expected), java.util.Arrays.stream(result).boxed().toList());
        }
    }

    @Test
    @DisplayName("Create, load, launch, take, restore, close in a loop: each program, kernel and buffer is released exactly once")
    void noLeaks() throws Exception {
        try (OpenClEngine engine = open()) {
            for (int i = 0; i < 5; i++) {
                OpenClPrimitive compiled = engine.create(descriptor(engine, i));
                check(engine, compiled, i);
                KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
                for (int j = 0; j < 3; j++) {
                    check(engine, engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL), i);
                    check(engine, compiled, i);
                }
                assertEquals(2, spy.alive().size(), "only context and queue stay: " + spy.alive());
            }
        }
        assertEquals(Map.of(), spy.alive());
        assertTrue(spy.created("program") >= 30 && spy.created("kernel") >= 50, "the loop did its work");
    }

    @Test
    @DisplayName("Eight threads compile, take and restore on one engine, and all results are right")
    void concurrently() throws Exception {
        try (OpenClEngine engine = open(); ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Callable<Integer>> work = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int number = t;
                work.add(() -> {
                    OpenClPrimitive compiled = engine.create(descriptor(engine, number));
                    check(engine, compiled, number);
                    KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
                    for (int i = 0; i < 3; i++) {
                        check(engine, engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL), number);
                    }
                    return number;
                });
            }
            for (Future<Integer> done : threads.invokeAll(work)) {
                done.get();
            }
        }
        assertEquals(Map.of(), spy.alive());
    }

    @Test
    @DisplayName("Eight threads share one primitive: each loads it, the binaries are taken once meanwhile")
    void sharedPrimitive() throws Exception {
        try (OpenClEngine engine = open(); ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            OpenClPrimitive shared = engine.create(descriptor(engine, 7));
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
        assertEquals(Map.of(), spy.alive());
    }

    @Test
    @DisplayName("An engine that is closed under eight working threads: each ends with a result or a clear exception, nothing leaks")
    void closedWhileInUse() throws Exception {
        OpenClEngine engine = open();
        OpenClPrimitive compiled = engine.create(descriptor(engine, 3));
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        CountDownLatch working = new CountDownLatch(THREADS);
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> ends = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                ends.add(threads.submit(() -> {
                    check(engine, engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL), 3);
                    working.countDown();
                    while (true) {
                        check(engine, engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL), 3);
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
                    assertTrue(cause.startsWith("java.lang.IllegalStateException") && cause.contains("closed"), cause);
                }
            }
        }
        assertEquals(Map.of(), spy.alive());
    }
}
