package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantPolicy;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.LoadedKernels;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tests of constants in device memory, computed by a kernel; all buffers of the driver are counted.
 */
@NeedsPocl
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OpenClConstantsTest {
    private static final int COUNT = 1 << 18; // floats: 1 MB
    private static final long MEGABYTE = 1L << 20;
    private static final Geometry ALL = Geometry.of(COUNT).local(64);
    private static final String SOURCE = """
        kernel void pack(global const float* in, global float* packed) {
            int i = get_global_id(0);
            packed[get_global_size(0) - 1 - i] = in[i] * 2;
        }
        kernel void add(global const float* packed, global const float* x, global float* out) {
            int i = get_global_id(0);
            out[i] = packed[i] + x[i];
        }
        kernel void multiply(global const float* packed, global const float* x, global float* out) {
            int i = get_global_id(0);
            out[i] = packed[i] * x[i];
        }
        """;

    private final SpyBinding spy = new SpyBinding();
    private final ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
    private final OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
    private final OpenClConstants constants = new OpenClConstants(caches, engine);

    @AfterEach
    void nothingLeaks() {
        engine.close();
        assertEquals(0, caches.statistics().bytes(), "closed engines leave nothing in the cache");
        assertEquals(0, caches.statistics().promisedBytes());
        caches.close();
        Await.holds(() -> spy.alive().isEmpty());
    }

    private static KernelDescriptor program(OpenClEngine engine, String kernel) {
        return KernelDescriptor.builder(engine.target(), kernel)
                .source(SOURCE)
                .entry(kernel)
                .build();
    }

    private static LoadedKernels load(OpenClEngine engine, String kernel) throws Exception {
        return engine.load(engine.create(program(engine, kernel)));
    }

    private long buffers() {
        return spy.alive().keySet().stream()
                .filter(object -> object.startsWith("buffer "))
                .count();
    }

    /** Returns packed weights, computed by the kernel from floats of that value. */
    private static OpenClBuffer pack(OpenClEngine engine, LoadedKernels packing, float value) {
        float[] content = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            content[i] = value + i;
        }
        OpenClBuffer packed = engine.buffer(MEGABYTE);
        try (OpenClBuffer weights = engine.bufferOf(content)) {
            packing.launch("pack", ALL, weights, packed);
        }
        return packed;
    }

    private static float packed(float value, int i) {
        return (value + COUNT - 1 - i) * 2;
    }

    private static void check(
            OpenClEngine engine,
            LoadedKernels kernels,
            String kernel,
            OpenClBuffer packed,
            float value) {
        float[] x = new float[COUNT];
        float[] expected = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            x[i] = i % 7;
            expected[i] = kernel.equals("add") ? packed(value, i) + x[i] : packed(value, i) * x[i];
        }
        float[] result = new float[COUNT];
        try (OpenClBuffer in = engine.bufferOf(x);
                OpenClBuffer out = engine.buffer(MEGABYTE)) {
            kernels.launch(kernel, ALL, packed, in, out);
            out.read(result);
        }
        assertArrayEquals(expected, result);
    }

    @Test
    @DisplayName("two primitives use one packed tensor: it is computed once, in one buffer, and"
            + " both results are correct")
    void twoPrimitives() throws Exception {
        try (LoadedKernels packing = load(engine, "pack");
                LoadedKernels add = load(engine, "add");
                LoadedKernels multiply = load(engine, "multiply")) {
            for (int execution = 0; execution < 3; execution++) {
                try (ConstantHold<OpenClBuffer> weights =
                        constants.get("w", MEGABYTE, () -> pack(engine, packing, 1))) {
                    check(engine, add, "add", weights.buffer(), 1);
                }
                try (ConstantHold<OpenClBuffer> weights =
                        constants.get("w", MEGABYTE, () -> pack(engine, packing, 1))) {
                    check(engine, multiply, "multiply", weights.buffer(), 1);
                }
            }
        }
        assertEquals(1, caches.statistics().made());
        assertEquals(5, caches.statistics().reused());
        assertEquals(1, buffers());
        assertEquals(7, spy.count("launch"), "one packing and six products");
    }

    @Test
    @DisplayName("8 threads request a missing key: the packing kernel runs once, and all use the"
            + " result")
    void threads() throws Exception {
        AtomicInteger computations = new AtomicInteger();
        try (LoadedKernels packing = load(engine, "pack");
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            Callable<Boolean> use = () -> {
                try (LoadedKernels own = load(engine, "add");
                        ConstantHold<OpenClBuffer> weights = constants.get("w", MEGABYTE, () -> {
                            computations.incrementAndGet();
                            return pack(engine, packing, 3);
                        })) {
                    check(engine, own, "add", weights.buffer(), 3);
                    return true;
                }
            };
            for (Future<Boolean> done : threads.invokeAll(Collections.nCopies(8, use))) {
                assertTrue(done.get());
            }
        }
        assertEquals(1, computations.get());
        assertEquals(1, buffers());
    }

    @Test
    @DisplayName("two contexts on one device share the budget but no tensors")
    void sameDevice() throws Exception {
        caches.setLimit(engine.device().kind(), Limit.of(2));
        try (OpenClEngine other = OpenClEngine.open(PoclDevice.get(), spy.binding())) {
            OpenClConstants others = new OpenClConstants(caches, other);
            assertSame(constants.cache(), others.cache());
            try (ConstantHold<OpenClBuffer> mine =
                            constants.get("w", MEGABYTE, () -> engine.buffer(MEGABYTE));
                    ConstantHold<OpenClBuffer> theirs =
                            others.get("w", MEGABYTE, () -> other.buffer(MEGABYTE))) {
                assertNotSame(mine.buffer(), theirs.buffer());
                assertTrue(mine.isCached() && theirs.isCached());
            }
            try (ConstantHold<OpenClBuffer> third =
                    others.get("third", MEGABYTE, () -> other.buffer(MEGABYTE))) {
                assertFalse(third.isCached(), "the device is full");
            }
            assertEquals(2, buffers());
        }
        assertEquals(1, buffers(), "only the closed engine's tensor was released");
        assertEquals(MEGABYTE, constants.cache().statistics().bytes());
        try (ConstantHold<OpenClBuffer> third =
                constants.get("third", MEGABYTE, () -> engine.buffer(MEGABYTE))) {
            assertTrue(third.isCached(), "there is space again");
        }
    }

    @Test
    @DisplayName("several instances for one engine share its tensors")
    void severalInstances() {
        constants.get("w", MEGABYTE, () -> engine.buffer(MEGABYTE)).close();
        new OpenClConstants(caches, engine)
                .get("w", MEGABYTE, () -> {
                    throw new AssertionError("computed again");
                })
                .close();
        assertTrue(constants.removeIfExist("w"));
        assertFalse(constants.removeIfExist("w"));
        assertEquals(0, buffers());
    }

    @Test
    @DisplayName("the budget of one kind of device does not affect the other kind")
    void kinds() {
        EngineKind kind = engine.device().kind();
        caches.setLimit(kind == EngineKind.CPU ? EngineKind.GPU : EngineKind.CPU, Limit.of(0));
        constants.get("w", MEGABYTE, () -> engine.buffer(MEGABYTE)).close();
        assertEquals(MEGABYTE, constants.cache().statistics().bytes());
        caches.setLimit(engine.device(), Limit.of(0));
        assertEquals(0, buffers());
    }

    @Test
    @DisplayName("5 MB of device memory: 1 + 2 are stored, 3 are refused; a tensor that is not kept"
            + " is released by its user")
    void megabytes() {
        caches.setLimit(engine.device().kind(), Limit.of(5));
        for (int megabytes = 1; megabytes <= 3; megabytes++) {
            long bytes = megabytes * MEGABYTE;
            constants.get(megabytes, bytes, () -> engine.buffer(bytes)).close();
        }
        assertEquals(3 * MEGABYTE, constants.cache().statistics().bytes());
        assertEquals(2, buffers());
    }

    @Test
    @DisplayName("a tensor evicted while in use stays valid until its hold is closed, and is then"
            + " released once")
    void evictedInUse() throws Exception {
        caches.setLimit(engine.device().kind(), new Limit(1, ConstantPolicy.LRU));
        List<String> notifications = new ArrayList<>();
        try (LoadedKernels packing = load(engine, "pack");
                LoadedKernels add = load(engine, "add")) {
            ConstantHold<OpenClBuffer> old =
                    constants.get("old", MEGABYTE, () -> pack(engine, packing, 1));
            old.onEviction(() -> notifications.add("old"));
            constants.get("new", MEGABYTE, () -> pack(engine, packing, 2)).close();
            assertEquals(List.of("old"), notifications);
            assertFalse(old.isCached());
            assertEquals(2, buffers());
            check(engine, add, "add", old.buffer(), 1);
            old.close();
            assertEquals(1, buffers());
        }
    }

    @Test
    @DisplayName("a closing engine removes its tensors, even in use: holders are notified, and"
            + " using them is an error, not a crash")
    void engineCloses() throws Exception {
        List<String> notifications = new ArrayList<>();
        ConstantHold<OpenClBuffer> held =
                constants.get("held", MEGABYTE, () -> engine.bufferOf(new float[COUNT]));
        constants.get("free", MEGABYTE, () -> engine.buffer(MEGABYTE)).close();
        held.onEviction(() -> {
            notifications.add("cached " + held.isCached());
            assertThrows(
                    IllegalStateException.class,
                    () -> new OpenClConstants(caches, engine),
                    "no lock is held: the engine throws at once");
        });
        engine.close();
        assertEquals(List.of("cached false"), notifications);
        Await.holds(() -> spy.alive().isEmpty());
        assertThrows(IllegalStateException.class, () -> held.buffer().read(new float[1]));
        held.close();
        assertThrows(
                IllegalStateException.class,
                () -> constants.get("held", MEGABYTE, () -> engine.buffer(MEGABYTE)));
    }

    @Test
    @DisplayName("if an engine closes while a tensor is computed, the caller gets a clear error,"
            + " and nothing is kept")
    void engineClosesWhileMaking() throws Exception {
        CountDownLatch made = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
            Future<ConstantHold<OpenClBuffer>> making =
                    threads.submit(() -> constants.get("w", MEGABYTE, () -> {
                        OpenClBuffer buffer = engine.buffer(MEGABYTE);
                        made.countDown();
                        closed.await();
                        return buffer;
                    }));
            made.await();
            engine.close();
            closed.countDown();
            Throwable cause =
                    assertThrows(ExecutionException.class, making::get).getCause();
            assertTrue(
                    cause instanceof IllegalStateException
                            && String.valueOf(cause.getMessage()).contains("closed"),
                    String.valueOf(cause));
        }
    }

    @Test
    @DisplayName("a tensor whose engine was closed before it was cached does not stay in the cache")
    void madeByClosedEngine() {
        OpenClBuffer before = engine.buffer(MEGABYTE);
        engine.close();
        assertThrows(IllegalStateException.class, () -> constants.get("w", MEGABYTE, () -> before));
        assertEquals(0, constants.cache().statistics().bytes());
    }

    @Test
    @DisplayName("if a packing kernel fails, the caller gets the exception, no buffer leaks, and"
            + " the next caller computes the tensor")
    void failingKernel() throws Exception {
        try (LoadedKernels packing = load(engine, "pack")) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> constants.get("w", MEGABYTE, () -> {
                        OpenClBuffer packed = engine.buffer(MEGABYTE);
                        try {
                            packing.launch("pack", ALL, packed);
                            return packed;
                        } catch (IllegalArgumentException e) {
                            packed.close();
                            throw e;
                        }
                    }));
            assertEquals(0, buffers());
            try (LoadedKernels add = load(engine, "add");
                    ConstantHold<OpenClBuffer> weights =
                            constants.get("w", MEGABYTE, () -> pack(engine, packing, 5))) {
                check(engine, add, "add", weights.buffer(), 5);
            }
        }
    }

    @Test
    @DisplayName("A buffer of another size or another engine is refused and released")
    void wrongBuffer() {
        IllegalArgumentException size = assertThrows(
                IllegalArgumentException.class,
                () -> constants.get("w", MEGABYTE, () -> engine.buffer(MEGABYTE - 1)));
        assertEquals(
                "The maker of a constant returned 1048575 bytes instead of 1048576",
                size.getMessage());
        try (OpenClEngine other = OpenClEngine.open(PoclDevice.get(), spy.binding())) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> constants.get("w", MEGABYTE, () -> other.buffer(MEGABYTE)));
            assertEquals(0, buffers());
        }
        assertEquals(0, caches.statistics().tensors());
    }

    @Test
    @DisplayName("threads use, evict and recompute tensors while engines open and close: correct"
            + " results, no leak, no buffer released in use")
    void concurrentUseAndEviction() throws Exception {
        caches.setLimit(engine.device().kind(), new Limit(2, ConstantPolicy.LRU));
        AtomicInteger evictions = new AtomicInteger();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int first = t;
                work.add(() -> {
                    for (int round = 0; round < 3; round++) {
                        try (OpenClEngine own = OpenClEngine.open(PoclDevice.get(), spy.binding());
                                LoadedKernels packing = load(own, "pack");
                                LoadedKernels add = load(own, "add")) {
                            OpenClConstants mine = new OpenClConstants(caches, own);
                            for (int use = 0; use < 6; use++) {
                                int key = (first + use) % 3;
                                ConstantHold<OpenClBuffer> weights =
                                        mine.get(key, MEGABYTE, () -> pack(own, packing, key));
                                weights.onEviction(evictions::incrementAndGet);
                                check(own, add, "add", weights.buffer(), key);
                                if (use % 3 != 0) { // the others are released with the engine
                                    weights.close();
                                }
                            }
                        }
                    }
                    return true;
                });
            }
            for (Future<Boolean> done : threads.invokeAll(work)) {
                assertTrue(done.get());
            }
        }
        assertTrue(evictions.get() > 0);
        assertEquals(0, constants.cache().statistics().bytes());
        assertEquals(0, buffers());
    }
}
