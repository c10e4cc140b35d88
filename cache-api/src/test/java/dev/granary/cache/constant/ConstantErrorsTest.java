package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.support.WaitGraph;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of stack overflows, cycles of factories, and sizes that do not match the key. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConstantErrorsTest {
    private static final int ROUNDS = TestRuns.count(2);
    // An unexpected wait hangs the test.
    private static final Duration WAIT_FOR_EVER = Duration.ofDays(1);

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final ConstantTensorCaches caches =
            new ConstantTensorCaches(ConstantLimits.NONE, System::nanoTime, WAIT_FOR_EVER);
    private final ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);

    private ConstantHold<Piece> get(int number) {
        return cache.get(
                key("k" + number), MEGABYTE, () -> memory.allocate("k" + number, MEGABYTE));
    }

    @Test
    @DisplayName("keys are equal if all four parts are equal")
    void equalKeys() {
        ConstantTensorCache.Key<Piece> key =
                new ConstantTensorCache.Key<>(Piece.class, "test", List.of("c"), List.of("k"));
        ConstantTensorCache.Key<Piece> same =
                new ConstantTensorCache.Key<>(Piece.class, "test", List.of("c"), List.of("k"));
        assertEquals(key, same);
        assertEquals(key.hashCode(), same.hashCode());
        for (ConstantTensorCache.Key<?> other : List.of(
                new ConstantTensorCache.Key<>(
                        AutoCloseable.class, "test", List.of("c"), List.of("k")),
                new ConstantTensorCache.Key<>(Piece.class, "tess", List.of("c"), List.of("k")),
                new ConstantTensorCache.Key<>(Piece.class, "test", List.of("d"), List.of("k")),
                new ConstantTensorCache.Key<>(Piece.class, "test", List.of("c"), List.of("l")))) {
            assertNotEquals(key, other);
            assertNotEquals(key.hashCode(), other.hashCode());
        }
        assertNotEquals(key, List.of());
    }

    /** A context compared by content. */
    private record Context(String name) {}

    @Test
    @DisplayName("contexts are compared by equality: an equal context shares tensors, and removing"
            + " it removes them")
    void equalContexts() {
        ConstantTensorCache.Key<Piece> one =
                new ConstantTensorCache.Key<>(Piece.class, "test", new Context("c"), "k");
        ConstantTensorCache.Key<Piece> other =
                new ConstantTensorCache.Key<>(Piece.class, "test", new Context("c"), "k");
        cache.get(one, MEGABYTE, () -> memory.allocate("k", MEGABYTE)).close();
        cache.get(other, MEGABYTE, () -> memory.allocate("k", MEGABYTE)).close();
        assertEquals(1, memory.allocated());
        cache.removeContext(new Context("d"));
        assertEquals(MEGABYTE, cache.statistics().bytes());
        cache.removeContext(new Context("c"));
        assertEquals(0, cache.statistics().bytes());
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("factories with endless recursion: all constants are available afterwards")
    void endlesslyNested() throws InterruptedException {
        for (int round = 0; round < 4 * ROUNDS; round++) {
            int first = round * 100_000;
            AtomicInteger deepest = new AtomicInteger(first);
            Thread thread = new Thread(
                    null,
                    () -> assertThrows(StackOverflowError.class, () -> nest(first, deepest)),
                    "deep",
                    (256L << 10) + round * 80L);
            thread.start();
            thread.join();
            for (int number = Math.max(first, deepest.get() - 100);
                    number < deepest.get() + 3;
                    number++) {
                get(number).close();
            }
            assertEquals(0, cache.statistics().promisedBytes());
            caches.setLimit(EngineKind.GPU, Limit.of(0));
            caches.setLimit(EngineKind.GPU, Limit.of(Limit.UNLIMITED));
        }
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("a completed tensor that cannot be returned is freed, and the next caller computes"
            + " it")
    void notReturned() {
        AtomicInteger clockReads = new AtomicInteger();
        ConstantTensorCache failing = new ConstantTensorCaches(
                        ConstantLimits.NONE,
                        () -> {
                            if (clockReads.incrementAndGet()
                                    == 2) { // the first call is by the promise
                                throw new OutOfMemoryError("on purpose");
                            }
                            return 0;
                        },
                        WAIT_FOR_EVER)
                .of(EngineKind.GPU, 0);
        assertThrows(OutOfMemoryError.class, () -> memory.take(failing, "k", 1));
        assertEquals(1, memory.allocated());
        memory.assertAllFreed();
        assertEquals(0, failing.statistics().promisedBytes());
        memory.use(failing, "k", 1);
        assertEquals(2, memory.allocated());
        assertEquals(1, memory.live());
    }

    private void nest(int number, AtomicInteger deepest) {
        deepest.set(number);
        cache.get(key("k" + number), MEGABYTE, () -> {
                    nest(number + 1, deepest);
                    return memory.allocate("k" + number, MEGABYTE);
                })
                .close();
    }

    @Test
    @DisplayName("a cycle of constants through two threads is an error for both, not a deadlock")
    void cycle() throws Exception {
        CyclicBarrier bothBuild = new CyclicBarrier(2);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int number = i;
                all.add(threads.submit(() -> cache.get(key("k" + number), MEGABYTE, () -> {
                    bothBuild.await();
                    get(1 - number).close();
                    return memory.allocate("k" + number, MEGABYTE);
                })));
            }
            for (Future<?> one : all) {
                assertTrue(
                        assertThrows(ExecutionException.class, one::get).getCause()
                                instanceof IllegalStateException);
            }
        }
        assertSoundAfterCycle();
    }

    @Test
    @DisplayName("a cycle through a constant and a primitive of two threads is an error for both,"
            + " not a deadlock")
    void cycleWithPrimitive() throws Exception {
        PrimitiveCache<String, String> primitives = new PrimitiveCache<>(4);
        CyclicBarrier bothBuild = new CyclicBarrier(2);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> constant = threads.submit(() -> cache.get(key("k0"), MEGABYTE, () -> {
                bothBuild.await();
                return memory.allocate(primitives.get("p", _ -> "unwanted"), MEGABYTE);
            }));
            Future<?> primitive = threads.submit(() -> primitives.get("p", key -> {
                bothBuild.await();
                get(0).close();
                return key;
            }));
            assertTrue(
                    assertThrows(ExecutionException.class, constant::get).getCause()
                            instanceof IllegalStateException);
            assertTrue(
                    assertThrows(ExecutionException.class, primitive::get).getCause()
                            instanceof IllegalStateException);
        }
        assertEquals("p", primitives.get("p", key -> key));
        assertSoundAfterCycle();
    }

    private void assertSoundAfterCycle() {
        assertEquals(0, WaitGraph.PROCESS.waiting());
        assertEquals(0, cache.statistics().promisedBytes());
        get(0).close();
        get(1).close();
        caches.close();
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("another size for a cached or promised key is an error that names both sizes,"
            + " without side effects")
    void anotherSize() {
        get(1).close();
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> cache.get(
                                key("k1"), 2 * MEGABYTE, () -> memory.allocate("k1", 2 * MEGABYTE)))
                .toString();
        assertTrue(
                message.contains(" " + MEGABYTE + " bytes") && message.contains(" " + 2 * MEGABYTE),
                message);
        assertThrows(IllegalArgumentException.class, () -> cache.getOrAdd(key("k1"), 1));
        try (ConstantHold<Piece> present = get(1)) {
            assertTrue(present.isCached());
        }
        try (ConstantPromise<Piece> promise = ((ConstantTensorCache.Lookup.Miss<Piece>)
                        cache.getOrAdd(key("k2"), MEGABYTE))
                .promise()) {
            // The owner of the promise.
            assertThrows(
                    IllegalStateException.class, () -> cache.getOrAdd(key("k2"), 2 * MEGABYTE));
            Throwable another = assertThrows(
                            CompletionException.class, () -> CompletableFuture.runAsync(
                                            () -> cache.getOrAdd(key("k2"), 2 * MEGABYTE))
                                    .join())
                    .getCause();
            assertInstanceOf(IllegalArgumentException.class, another);
            promise.fulfil(memory.allocate("k2", MEGABYTE)).close();
        }
        assertEquals(2, cache.statistics().made());
        assertEquals(1, cache.statistics().reused());
        caches.close();
        memory.assertAllFreed();
    }
}
