package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.build.BuildCycleDetector;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Tests of guarantees under every eviction policy: capacity, counters, single builds. */
class PrimitiveCachePolicyTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    private static void getAll(PrimitiveCache<Integer, String> cache, int from, int to) {
        IntStream.range(from, to)
                .forEach(key -> assertEquals("value " + key, cache.get(key, k -> "value " + k)));
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M1-M4 size never exceeds the capacity; lowering evicts at once; 0 clears and"
            + " disables; raising enables again")
    void capacity(PrimitiveCachePolicy policy) {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(22, policy);
        assertEquals(0, cache.size());
        getAll(cache, 0, 30);
        assertEquals(22, cache.size());
        cache.setCapacity(100);
        assertEquals(22, cache.size());
        assertEquals(100, cache.capacity());
        cache.setCapacity(10);
        assertEquals(10, cache.size());
        assertEquals(
                10,
                IntStream.range(0, 30).filter(key -> cache.peek(key) != null).count());
        cache.setCapacity(0);
        assertEquals(0, cache.size());
        long misses = cache.misses();
        getAll(cache, 0, 5);
        getAll(cache, 0, 5);
        assertEquals(misses + 10, cache.misses());
        assertEquals(0, cache.size());
        cache.setCapacity(5);
        getAll(cache, 0, 5);
        getAll(cache, 0, 5);
        assertEquals(5, cache.size());
        assertEquals(misses + 15, cache.misses());
        assertEquals(5, cache.hits());
        assertThrows(IllegalArgumentException.class, () -> cache.setCapacity(-1));
        assertThrows(IllegalArgumentException.class, () -> new PrimitiveCache<>(-1, policy));
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("O1 each evicted value is reported to the listener once, and no other; those that"
            + " leave together by LRU are one report")
    void evictions(PrimitiveCachePolicy policy) {
        List<Long> evicted = new ArrayList<>();
        AtomicInteger begun = new AtomicInteger();
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(22, policy, () -> {
            begun.incrementAndGet();
            return (values, bytes) -> {
                assertEquals(0, bytes);
                evicted.add(values);
            };
        });
        getAll(cache, 0, 22);
        assertEquals(List.of(), evicted);
        getAll(cache, 22, 30);
        assertEquals(Collections.nCopies(8, 1L), evicted);
        cache.setCapacity(10);
        assertEquals(20, evicted.stream().mapToLong(Long::longValue).sum());
        cache.setCapacity(0);
        getAll(cache, 0, 5);
        assertEquals(30, evicted.stream().mapToLong(Long::longValue).sum());
        assertEquals(policy == PrimitiveCachePolicy.LRU ? 10 : 30, evicted.size());
        assertEquals(evicted.size(), begun.get());
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("O1 hits and misses are counted exactly; peek counts as neither")
    void counters(PrimitiveCachePolicy policy) {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(100, policy);
        for (int round = 0; round < 50; round++) {
            getAll(cache, 0, 100);
            assertEquals("value 7", cache.peek(7));
        }
        assertNull(cache.peek(1000));
        assertEquals(4900, cache.hits());
        assertEquals(100, cache.misses());
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName(
            "M7 1,000 virtual and then 1,000 platform threads on one absent key: one build each")
    void thousand(PrimitiveCachePolicy policy) {
        PrimitiveCache<String, Object> cache = new PrimitiveCache<>(10, policy);
        for (ThreadFactory factory :
                List.of(Thread.ofVirtual().factory(), Thread.ofPlatform().factory())) {
            assertTimeoutPreemptively(GENEROUS, () -> assertOneBuild(cache, factory));
        }
    }

    private static void assertOneBuild(PrimitiveCache<String, Object> cache, ThreadFactory factory)
            throws Exception {
        AtomicInteger builds = new AtomicInteger();
        String key = "key of " + factory;
        long before = cache.misses();
        CountDownLatch start = new CountDownLatch(1);
        List<Future<Object>> all = new ArrayList<>();
        try (ExecutorService threads = Executors.newThreadPerTaskExecutor(factory)) {
            for (int i = 0; i < 1000; i++) {
                all.add(threads.submit(() -> {
                    start.await();
                    return cache.get(key, _ -> {
                        builds.incrementAndGet();
                        // Then half of the others are waiting.
                        Await.holds(() -> cache.misses() - before >= 500);
                        return new Object();
                    });
                }));
            }
            start.countDown();
        }
        Object first = all.getFirst().get();
        for (Future<Object> one : all) {
            assertSame(first, one.get());
        }
        assertEquals(1, builds.get());
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M7 a failed build also reaches an interrupted waiter, which stays interrupted;"
            + " nothing is cached, the next call builds")
    void failure(PrimitiveCachePolicy policy) {
        PrimitiveCache<String, String> cache = new PrimitiveCache<>(10, policy);
        IOException failure = new IOException("on purpose");
        assertTimeoutPreemptively(GENEROUS, () -> {
            CountDownLatch building = new CountDownLatch(1);
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<IOException> builder = threads.submit(() -> assertThrows(
                        IOException.class,
                        () -> cache.get("a", _ -> {
                            building.countDown();
                            Await.holds(() -> BuildCycleDetector.PROCESS.waiting() > 0);
                            throw failure;
                        })));
                building.await();
                Future<Boolean> waiter = threads.submit(() -> {
                    Thread.currentThread().interrupt();
                    assertSame(
                            failure,
                            assertThrows(
                                    IOException.class,
                                    () -> cache.<IOException>get("a", _ -> {
                                        throw new IOException("built twice");
                                    })));
                    return Thread.currentThread().isInterrupted();
                });
                assertSame(failure, builder.get());
                assertTrue(waiter.get());
            }
        });
        assertEquals(0, cache.size());
        assertEquals("again", cache.get("a", _ -> "again"));
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M6 a key that needs itself is an error under every policy")
    void selfNeed(PrimitiveCachePolicy policy) {
        PrimitiveCache<String, String> cache = new PrimitiveCache<>(10, policy);
        assertTimeoutPreemptively(GENEROUS, () -> {
            assertThrows(
                    IllegalStateException.class,
                    () -> cache.get("a", a -> cache.get("b", _ -> cache.get(a, k -> k))));
            assertEquals("a", cache.get("a", key -> key));
        });
    }
}
