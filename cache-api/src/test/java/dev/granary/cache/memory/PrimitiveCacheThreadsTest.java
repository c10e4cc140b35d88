package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.Await;
import dev.granary.testing.Race;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Concurrency tests: one build per key, exact size, changes of the capacity. */
class PrimitiveCacheThreadsTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    @Test
    @DisplayName("a hit completes while another thread has the lock of changes")
    void hitTakesNoLock() throws Exception {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(12);
        cache.get(1, key -> "value " + key);
        Field lock = PrimitiveCache.class.getDeclaredField("lock");
        lock.setAccessible(true);
        long before = cache.hits();
        assertTimeoutPreemptively(GENEROUS, () -> {
            synchronized (lock.get(cache)) {
                Thread other = Thread.ofPlatform().start(() -> {
                    for (int use = 0; use < 100; use++) {
                        cache.get(1, key -> "other " + key);
                    }
                });
                other.join(); // not before the lock is free, if a hit took it
            }
        });
        assertEquals(before + 100, cache.hits());
    }

    @Test
    @DisplayName("12 threads, 12 keys: 12 values; lookups of 10 present ones build nothing")
    void twelve() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(12);
            CyclicBarrier start = new CyclicBarrier(12);
            List<Callable<String>> work = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                int key = i;
                work.add(() -> {
                    start.await();
                    return cache.get(key, k -> "value " + k);
                });
            }
            Race.run(work);
            assertEquals(12, cache.size());
            for (int key = 0; key < 10; key++) {
                assertEquals("value " + key, cache.get(key, _ -> {
                    throw new AssertionError("built again");
                }));
            }
            assertEquals(10, cache.hits());
            assertEquals(12, cache.misses());
        });
    }

    @Test
    @DisplayName(
            "1,000 virtual threads on one absent key: one build, and every call is counted once")
    void thousand() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<String, Object> cache = new PrimitiveCache<>(10);
            AtomicInteger builds = new AtomicInteger();
            Callable<Object> lookup = () -> cache.get("key", _ -> {
                builds.incrementAndGet();
                Await.holds(() -> cache.misses() >= 500); // then half of the others are waiting
                return new Object();
            });
            List<Object> values = Race.run(Collections.nCopies(1000, lookup));
            assertEquals(1, builds.get());
            assertEquals(1, values.stream().distinct().count());
            assertEquals(1000, cache.hits() + cache.misses());
            assertEquals(1, cache.size());
        });
    }

    @Test
    @DisplayName("capacity set to 0 during a build: its callers get the value, nothing is cached")
    void zeroDuringBuild() {
        PrimitiveCache<String, String> cache = new PrimitiveCache<>(10);
        cache.get("old", key -> key);
        assertEquals("new", cache.get("new", key -> {
            assertEquals(1, cache.size(), "a build in progress is not counted");
            cache.setCapacity(0);
            return key;
        }));
        assertEquals(0, cache.size());
    }

    @Test
    @DisplayName("capacity lowered during builds: the limit holds after them")
    void loweredDuringBuilds() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(100);
            CountDownLatch go = new CountDownLatch(1);
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<Integer>> all = new ArrayList<>();
                for (int i = 0; i < 50; i++) {
                    int key = i;
                    all.add(threads.submit(() -> cache.get(key, k -> {
                        go.await();
                        return k;
                    })));
                }
                cache.setCapacity(7);
                go.countDown();
                for (int i = 0; i < 50; i++) {
                    assertEquals(i, all.get(i).get());
                }
            }
            assertEquals(7, cache.size());
        });
    }

    @Test
    @DisplayName(
            "random lookups and capacity changes: every value is correct, the final size is the"
                    + " limit, every call is counted")
    void random() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(16);
            SplittableRandom seeds = TestSeed.random(getClass().getName());
            AtomicInteger builds = new AtomicInteger();
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                SplittableRandom random = seeds.split();
                work.add(() -> {
                    for (int i = 0; i < 20_000; i++) {
                        int key = random.nextInt(40);
                        assertEquals("value " + key, cache.get(key, k -> {
                            builds.incrementAndGet();
                            return "value " + k;
                        }));
                        if (random.nextInt(1000) == 0) {
                            cache.setCapacity(random.nextInt(40));
                        }
                    }
                    return true;
                });
            }
            Race.run(work);
            cache.setCapacity(16);
            assertTrue(cache.size() <= 16);
            assertEquals(80_000, cache.hits() + cache.misses());
            assertTrue(builds.get() <= cache.misses(), "a miss builds, or waits for a build");
            for (int key = 0; key < 20; key++) {
                cache.get(key, k -> "value " + k);
            }
            assertEquals(16, cache.size());
        });
    }

    @Test
    @DisplayName("recency is exact across threads: an earlier use of one is older than a later use"
            + " of another, under any load")
    void recencyAcrossThreads() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(1000);
            for (int key = 0; key < 1000; key++) {
                cache.get(key, k -> k);
            }
            Callable<Boolean> busy = () -> {
                for (int i = 0; i < 200_000; i++) {
                    assertNotNull(cache.get(i % 1000, k -> k));
                }
                return true;
            };
            Race.run(List.of(busy, busy, busy));
            for (int key = 100; key < 110; key++) {
                cache.get(key, k -> k);
            }
            cache.setCapacity(10);
            for (int key = 100; key < 110; key++) {
                assertNotNull(cache.peek(key), "used last");
            }
        });
    }

    @Test
    @DisplayName("a cached value does not retain the thread that built it")
    void threadIsFree() throws Exception {
        PrimitiveCache<String, String> cache = new PrimitiveCache<>(10);
        WeakReference<Thread> builder = build(cache);
        Await.collected(() -> builder.refersTo(null));
        assertEquals("value", cache.peek("key"));
    }

    private static WeakReference<Thread> build(PrimitiveCache<String, String> cache)
            throws InterruptedException {
        Thread thread = Thread.ofPlatform().start(() -> cache.get("key", _ -> "value"));
        thread.join();
        return new WeakReference<>(thread);
    }
}
