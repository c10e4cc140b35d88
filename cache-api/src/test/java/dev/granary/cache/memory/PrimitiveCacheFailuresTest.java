package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.support.WaitGraph;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of builds that fail, depend on each other, or depend on themselves. */
class PrimitiveCacheFailuresTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    private final PrimitiveCache<String, String> cache = new PrimitiveCache<>(10);

    static List<Throwable> failures() {
        return List.of(
                new IOException("checked"),
                new IllegalStateException("unchecked"),
                new AssertionError("error"));
    }

    private static String fail(Throwable failure) throws Exception {
        switch (failure) {
            case Exception exception -> throw exception;
            case Error error -> throw error;
            default -> throw new AssertionError(failure);
        }
    }

    @ParameterizedTest
    @MethodSource("failures")
    @DisplayName(
            "one build for 16 threads: if it fails, all get the failure, nothing is cached, and"
                    + " the next call builds")
    void failureReachesAll(Throwable failure) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            AtomicInteger builds = new AtomicInteger();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<String>> all = new ArrayList<>();
                for (int i = 0; i < 16; i++) {
                    all.add(threads.submit(() -> cache.get("a", _ -> {
                        builds.incrementAndGet();
                        awaitWaiters(15);
                        return fail(failure);
                    })));
                }
                for (Future<String> one : all) {
                    assertSame(
                            failure,
                            assertThrows(ExecutionException.class, one::get).getCause());
                }
            }
            assertEquals(1, builds.get());
            assertEquals(0, cache.size());
            assertNull(cache.peek("a"));
            assertEquals("again", cache.get("a", _ -> "again"));
            assertEquals("again", cache.peek("a"));
        });
    }

    private static void awaitWaiters(int count) {
        Await.holds(() -> WaitGraph.PROCESS.waiting() >= count);
    }

    @Test
    @DisplayName("a builder that returns null fails only this call")
    @SuppressWarnings("NullAway") // null is the subject of the test
    void nullValue() {
        assertThrows(NullPointerException.class, () -> cache.get("a", _ -> null));
        assertEquals("a", cache.get("a", key -> key));
    }

    @Test
    @DisplayName("an interrupted waiter gets the value and keeps its interrupt status")
    void interruptedWaiter() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            CountDownLatch building = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<String> builder = threads.submit(() -> cache.get("a", key -> {
                    building.countDown();
                    go.await();
                    return key;
                }));
                building.await();
                Future<Boolean> waiter = threads.submit(() -> {
                    Thread.currentThread().interrupt();
                    assertEquals("a", cache.get("a", _ -> "built twice"));
                    return Thread.currentThread().isInterrupted();
                });
                awaitWaiters(1);
                go.countDown();
                assertEquals("a", builder.get());
                assertTrue(waiter.get());
            }
        });
    }

    @Test
    @DisplayName("a failed build also reaches an interrupted waiter, which stays interrupted;"
            + " nothing is cached, the next call builds")
    void failureOfInterrupted() {
        IOException failure = new IOException("on purpose");
        assertTimeoutPreemptively(GENEROUS, () -> {
            CountDownLatch building = new CountDownLatch(1);
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<IOException> builder = threads.submit(() -> assertThrows(
                        IOException.class,
                        () -> cache.get("a", _ -> {
                            building.countDown();
                            Await.holds(() -> WaitGraph.PROCESS.waiting() > 0);
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

    @Test
    @DisplayName("a build may need other keys, even in parallel")
    void nested() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<Integer, Integer> sums = new PrimitiveCache<>(100);
            AtomicInteger builds = new AtomicInteger();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<Integer>> all = new ArrayList<>();
                for (int i = 0; i < 64; i++) {
                    int top = 20 + i % 5;
                    all.add(threads.submit(() -> fibonacci(sums, top, builds)));
                }
                for (int i = 0; i < 64; i++) {
                    assertEquals(
                            List.of(6765, 10946, 17711, 28657, 46368).get(i % 5),
                            all.get(i).get());
                }
            }
            assertEquals(25, builds.get(), "each key once");
        });
    }

    private static int fibonacci(
            PrimitiveCache<Integer, Integer> sums, int number, AtomicInteger builds) {
        return sums.get(number, n -> {
            builds.incrementAndGet();
            return n < 2 ? n : fibonacci(sums, n - 1, builds) + fibonacci(sums, n - 2, builds);
        });
    }

    @Test
    @DisplayName("a key that needs itself, directly or through another key, is an error; the keys"
            + " stay usable")
    void selfNeed() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            assertThrows(
                    IllegalStateException.class,
                    () -> cache.get("a", key -> cache.get(key, k -> k)));
            assertThrows(
                    IllegalStateException.class,
                    () -> cache.get("a", a -> cache.get("b", _ -> cache.get(a, k -> k))));
            assertEquals(0, cache.size());
            assertEquals("a", cache.get("a", key -> key));
            assertEquals("b", cache.get("b", key -> key));
        });
    }

    @Test
    @DisplayName("a cycle through two threads is an error, not a deadlock")
    void cycle() {
        assertTimeoutPreemptively(GENEROUS, () -> assertCycleEnds(cache, cache));
    }

    @Test
    @DisplayName("a cycle through two threads and two caches is an error, not a deadlock")
    void cycleOfCaches() {
        assertTimeoutPreemptively(GENEROUS, () -> assertCycleEnds(cache, new PrimitiveCache<>(10)));
    }

    private static void assertCycleEnds(
            PrimitiveCache<String, String> ofA, PrimitiveCache<String, String> ofB)
            throws Exception {
        CyclicBarrier bothBuild = new CyclicBarrier(2);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<String> a = threads.submit(() -> ofA.get("a", _ -> {
                bothBuild.await();
                return ofB.get("b", key -> key);
            }));
            Future<String> b = threads.submit(() -> ofB.get("b", _ -> {
                bothBuild.await();
                return ofA.get("a", key -> key);
            }));
            // One of the two detects the cycle and fails; the other waits for it and fails too.
            assertTrue(
                    assertThrows(ExecutionException.class, a::get).getCause()
                            instanceof IllegalStateException);
            assertTrue(
                    assertThrows(ExecutionException.class, b::get).getCause()
                            instanceof IllegalStateException);
        }
        assertEquals(0, WaitGraph.PROCESS.waiting());
        assertEquals("fine", ofA.get("a", _ -> "fine"));
        assertEquals("fine", ofB.get("b", _ -> "fine"));
    }

    @Test
    @DisplayName("a waiter on a failed build does not close a cycle: its builder may immediately"
            + " look up the waiter's key")
    void noCycleAfterFailure() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                // The waiter is mostly still asleep at the lookup.
                for (int round = 0; round < 200; round++) {
                    String fails = "fails " + round;
                    String waits = "waits " + round;
                    CountDownLatch building = new CountDownLatch(1);
                    Future<String> waiter = threads.submit(() -> cache.get(waits, _ -> {
                        building.await();
                        try {
                            return cache.get(fails, _ -> fail(new IOException("in both")));
                        } catch (IOException e) {
                            return "after the failure";
                        }
                    }));
                    assertThrows(
                            IOException.class,
                            () -> cache.get(fails, _ -> {
                                building.countDown();
                                awaitWaiters(1);
                                return fail(new IOException("in both"));
                            }));
                    assertEquals("after the failure", cache.get(waits, _ -> "built twice"));
                    assertEquals("after the failure", waiter.get());
                }
            }
        });
    }
}
