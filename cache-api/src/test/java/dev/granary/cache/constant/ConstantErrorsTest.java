package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.build.BuildCycleDetector;
import dev.granary.cache.build.StackEdge;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.cache.constant.config.ConstantLimit;
import dev.granary.cache.constant.config.ConstantLimits;
import dev.granary.cache.constant.config.ConstantPolicy;
import dev.granary.cache.constant.config.EngineKind;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.testing.ChildJvm;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

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

/**
 * Tests of stack overflows at any depth, cycles of factories, and sizes that do not match the key.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConstantErrorsTest {
    private static final int LEVELS = 300;
    private static final int ROUNDS = Integer.getInteger("granary.edge.rounds", 3);
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

    /** Closes the holds that are present and returns their number. */
    private static int closeAll(@Nullable ConstantHold<?>[] held) {
        int count = 0;
        for (ConstantHold<?> constant : held) {
            if (constant != null) {
                constant.close();
                count++;
            }
        }
        return count;
    }

    @ParameterizedTest
    @EnumSource(ConstantPolicy.class)
    @DisplayName(
            "M1 a call at each depth from the end of the stack: all constants are available, no"
                    + " byte stays promised, all memory is freed")
    void anyDepth(ConstantPolicy policy) throws InterruptedException {
        int overflowed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            caches.setCapacity(EngineKind.GPU, 4, policy);
            // An array, because a list's add may fail and lose the hold.
            @Nullable ConstantHold<?>[] held = new ConstantHold<?>[LEVELS];
            get(-1).close();
            StackEdge.run(LEVELS, round, level -> {
                ConstantHold<Piece> constant = get(level);
                held[level] = constant;
                constant.close();
            });
            overflowed += closeAll(held) < LEVELS ? 1 : 0;
            assertEquals(0, cache.statistics().promisedBytes());
            assertEquals(cache.statistics().tensors() * MEGABYTE, cache.getSize());
            for (int level = 0; level < LEVELS; level++) {
                get(level).close();
            }
            assertEquals(4 * MEGABYTE, cache.getSize());
            assertEquals(4, memory.live());
            caches.setCapacity(EngineKind.GPU, 0, policy);
            memory.assertAllFreed();
            assertEquals(0, BuildCycleDetector.PROCESS.waiting());
        }
        assertTrue(overflowed > 0, "the stack overflowed in a round");
    }

    @ParameterizedTest
    @EnumSource(value = ConstantPolicy.class, mode = EnumSource.Mode.EXCLUDE, names = "NO_EVICT")
    @DisplayName("M1 calls initialize no class of the project: one that overflows the stack in its"
            + " initializer would stay unusable")
    void initializedBefore(ConstantPolicy policy) throws Exception {
        ChildJvm.Result result = ChildJvm.of(FirstUseProcess.class)
                .flags("-Xlog:class+init=info")
                .run(policy.name());
        List<String> lines = result.lines();
        List<String> uses = lines.subList(lines.indexOf(FirstUseProcess.MARK), lines.size());
        assertTrue(uses.contains("evicted 1"), result::toString);
        assertTrue(lines.stream().anyMatch(ConstantErrorsTest::isInitializer), "no log of the JVM");
        assertEquals(
                List.of(),
                uses.stream().filter(ConstantErrorsTest::isInitializer).toList());
    }

    /** Returns true for a line about a class with an initializer that may overflow. */
    private static boolean isInitializer(String line) {
        return line.contains("Initializing 'dev/granary/") && !line.contains("(no method)");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 4})
    @DisplayName("M1 closing at each depth from the end of the stack can be repeated, and frees the"
            + " memory once")
    void closedAtAnyDepth(long capacity) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            caches.setCapacity(EngineKind.GPU, capacity);
            List<ConstantHold<Piece>> held = new ArrayList<>();
            for (int level = 0; level < LEVELS; level++) {
                held.add(get(level % 4));
            }
            StackEdge.run(LEVELS, round, level -> held.get(level).close());
            held.forEach(ConstantHold::close);
            assertEquals(capacity, memory.live());
            caches.setCapacity(EngineKind.GPU, 0);
            memory.assertAllFreed();
            caches.setCapacity(EngineKind.GPU, 4);
        }
    }

    @Test
    @DisplayName("M1 the first frees of a process, near the end of a stack, leak nothing")
    void firstClose() throws Exception {
        assertEquals(
                List.of("0"),
                ChildJvm.of(FirstCloseProcess.class).mergeErrors().run().lines());
    }

    @Test
    @DisplayName("M1 hits at each depth from the end of the stack leak no hold")
    void hitAtAnyDepth() throws InterruptedException {
        int overflowed = 0;
        for (int round = 0; round < 4 * ROUNDS; round++) {
            get(0).close();
            @Nullable ConstantHold<?>[] held = new ConstantHold<?>[LEVELS];
            StackEdge.run(LEVELS, round, level -> held[level] = get(0));
            overflowed += closeAll(held) < LEVELS ? 1 : 0;
            caches.setCapacity(EngineKind.GPU, 0);
            memory.assertAllFreed();
            caches.setCapacity(EngineKind.GPU, ConstantLimit.UNLIMITED);
        }
        // seldom not in a round: the room at the end depends on frames and guard pages of the JVM
        assertTrue(overflowed > 0, "the stack overflowed in a round");
    }

    @Test
    @DisplayName("M1 keys are equal if all four parts are equal, without linking by the JVM at the"
            + " first call")
    void equalKeys() {
        ConstantKey<Piece> key = new ConstantKey<>(Piece.class, "test", List.of("c"), List.of("k"));
        ConstantKey<Piece> same =
                new ConstantKey<>(Piece.class, "test", List.of("c"), List.of("k"));
        assertEquals(key, same);
        assertEquals(key.hashCode(), same.hashCode());
        for (ConstantKey<?> other : List.of(
                new ConstantKey<>(AutoCloseable.class, "test", List.of("c"), List.of("k")),
                new ConstantKey<>(Piece.class, "tess", List.of("c"), List.of("k")),
                new ConstantKey<>(Piece.class, "test", List.of("d"), List.of("k")),
                new ConstantKey<>(Piece.class, "test", List.of("c"), List.of("l")))) {
            assertNotEquals(key, other);
            assertNotEquals(key.hashCode(), other.hashCode());
        }
        assertNotEquals(key, List.of());
    }

    /** A context compared by content. */
    private record Context(String name) {}

    @Test
    @DisplayName(
            "M8 contexts are compared by equality: an equal context shares tensors, and removing"
                    + " it removes them")
    void equalContexts() {
        ConstantKey<Piece> one = new ConstantKey<>(Piece.class, "test", new Context("c"), "k");
        ConstantKey<Piece> other = new ConstantKey<>(Piece.class, "test", new Context("c"), "k");
        cache.get(one, MEGABYTE, () -> memory.allocate("k", MEGABYTE)).close();
        cache.get(other, MEGABYTE, () -> memory.allocate("k", MEGABYTE)).close();
        assertEquals(1, memory.allocated());
        cache.removeContext(new Context("d"));
        assertEquals(MEGABYTE, cache.getSize());
        cache.removeContext(new Context("c"));
        assertEquals(0, cache.getSize());
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("M1 factories with endless recursion: all constants are available afterwards")
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
            assertEquals(0, cache.statistics().promisedBytes());
            for (int number = Math.max(first, deepest.get() - 100);
                    number < deepest.get() + 3;
                    number++) {
                get(number).close();
            }
            caches.setCapacity(EngineKind.GPU, 0);
            caches.setCapacity(EngineKind.GPU, ConstantLimit.UNLIMITED);
        }
        memory.assertAllFreed();
    }

    /** A call that ends a promise. */
    enum Ending {
        FULFIL,
        FAIL,
        CLOSE
    }

    @ParameterizedTest
    @EnumSource(Ending.class)
    @DisplayName("M1 ending a promise at each depth from the end of the stack succeeds or can be"
            + " repeated; no byte stays promised")
    void promisesAtAnyDepth(Ending ending) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            List<ConstantPromise<Piece>> promises = new ArrayList<>();
            List<Piece> pieces = new ArrayList<>();
            for (int level = 0; level < LEVELS; level++) {
                ConstantLookup<Piece> found = cache.getOrAdd(key("k" + level), MEGABYTE);
                promises.add(((ConstantLookup.Miss<Piece>) found).promise());
                pieces.add(memory.allocate("k" + level, MEGABYTE));
            }
            boolean[] ended = new boolean[LEVELS];
            @Nullable ConstantHold<?>[] held = new ConstantHold<?>[LEVELS];
            StackEdge.run(LEVELS, round, level -> {
                switch (ending) {
                    case FULFIL -> held[level] = promises.get(level).fulfil(pieces.get(level));
                    case FAIL -> promises.get(level).fail(new IllegalStateException("on purpose"));
                    case CLOSE -> promises.get(level).close();
                }
                ended[level] = true;
            });
            int again = 0;
            for (int level = 0; level < LEVELS; level++) {
                again += ended[level] ? 0 : 1;
                if (ending == Ending.FULFIL && !ended[level]) {
                    // A failed call had no effect.
                    held[level] = promises.get(level).fulfil(pieces.get(level));
                } else if (ending == Ending.FAIL && !ended[level]) {
                    promises.get(level).fail(new IllegalStateException("on purpose"));
                } else if (ending == Ending.CLOSE && !ended[level]) {
                    promises.get(level).close();
                }
                if (ending != Ending.FULFIL) {
                    pieces.get(level).close();
                }
            }
            assertTrue(again > 0, "the stack overflowed");
            assertEquals(0, cache.statistics().promisedBytes());
            assertEquals(cache.statistics().tensors() * MEGABYTE, cache.getSize());
            assertEquals(
                    ending == Ending.FULFIL ? LEVELS : 0,
                    cache.statistics().tensors(),
                    "each is counted once");
            assertEquals(ending == Ending.FULFIL ? LEVELS : 0, closeAll(held));
            for (int level = 0; level < LEVELS; level++) {
                get(level).close();
            }
            caches.setCapacity(EngineKind.GPU, 0);
            memory.assertAllFreed();
            caches.setCapacity(EngineKind.GPU, ConstantLimit.UNLIMITED);
        }
    }

    @Test
    @DisplayName(
            "M1 a completed tensor that cannot be returned is freed, and the next caller computes"
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
    @DisplayName("M2 a cycle of constants through two threads is an error for both, not a deadlock")
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
    @DisplayName(
            "M2 a cycle through a constant and a primitive of two threads is an error for both,"
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
        assertEquals(0, BuildCycleDetector.PROCESS.waiting());
        assertEquals(0, cache.statistics().promisedBytes());
        get(0).close();
        get(1).close();
        caches.close();
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("M4 another size for a cached or promised key is an error that names both sizes,"
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
        try (ConstantPromise<Piece> promise =
                ((ConstantLookup.Miss<Piece>) cache.getOrAdd(key("k2"), MEGABYTE)).promise()) {
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
