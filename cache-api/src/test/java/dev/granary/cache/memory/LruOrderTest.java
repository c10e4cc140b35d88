package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** Tests of the LRU order against a model, and across threads. */
class LruOrderTest {
    private static final int KEYS = 300;

    /** A reference LRU. */
    private static final class Model {
        private final LinkedHashMap<Integer, Boolean> order = new LinkedHashMap<>(16, 0.75f, true);
        private int capacity;

        void use(int key) {
            if (capacity > 0 && order.get(key) == null) {
                evictTo(capacity - 1);
                order.put(key, true);
            }
        }

        void setCapacity(int next) {
            capacity = next;
            evictTo(next);
        }

        private void evictTo(int size) {
            while (order.size() > size) {
                order.pollFirstEntry();
            }
        }
    }

    private static void assertSame(
            Model model, PrimitiveCache<Integer, Integer> cache, String when) {
        List<Integer> present = IntStream.range(0, KEYS)
                .filter(key -> cache.peek(key) != null)
                .boxed()
                .toList();
        assertEquals(List.copyOf(new TreeSet<>(model.order.keySet())), present, when);
        assertEquals(present.size(), cache.size(), when);
    }

    /**
     * Runs random uses and changes of capacity below {@code most}, each on one of {@code threads},
     * and compares the cache with the model.
     */
    private static void play(
            SplittableRandom random, List<ExecutorService> threads, int most, int steps)
            throws Exception {
        Model model = new Model();
        PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(0);
        for (int step = 0; step < steps; step++) {
            ExecutorService thread = threads.get(random.nextInt(threads.size()));
            if (step % 500 == 0) {
                int capacity = random.nextInt(most);
                model.setCapacity(capacity);
                inTurn(thread, () -> {
                    cache.setCapacity(capacity);
                    return true;
                });
            }
            int key = random.nextInt(random.nextInt(1, KEYS)); // low keys more often
            model.use(key);
            assertEquals(key, inTurn(thread, () -> cache.get(key, k -> k)));
            if (step % 50 == 0) {
                assertSame(model, cache, "step " + step);
            }
        }
    }

    private static <T> T inTurn(ExecutorService thread, Callable<T> work)
            throws ExecutionException, InterruptedException {
        return thread.submit(work).get();
    }

    @Test
    @DisplayName("one thread: the content equals that of a reference LRU, for any uses and"
            + " capacities")
    void oneThread() throws Exception {
        SplittableRandom random = TestSeed.random(getClass().getName() + ".oneThread");
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            play(random, List.of(thread), KEYS, 50_000);
        }
    }

    @Test
    @DisplayName("alternating threads: the content equals that of a reference LRU")
    void turns() throws Exception {
        SplittableRandom random = TestSeed.random(getClass().getName() + ".turns");
        try (ExecutorService a = Executors.newSingleThreadExecutor();
                ExecutorService b = Executors.newSingleThreadExecutor();
                ExecutorService rare = Executors.newVirtualThreadPerTaskExecutor()) {
            play(random, List.of(a, b, a, b, rare), KEYS, 30_000);
        }
    }

    @Test
    @DisplayName("all hits of many threads, concurrent or consecutive, are counted")
    void counted() throws Exception {
        PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        cache.get(1, k -> k);
        Callable<Integer> hundred =
                () -> IntStream.range(0, 100).map(_ -> cache.get(1, k -> k)).sum();
        for (int round = 0; round < 3; round++) {
            try (ExecutorService threads = Executors.newFixedThreadPool(200)) {
                List<Callable<Integer>> work = new ArrayList<>();
                IntStream.range(0, 200).forEach(_ -> work.add(hundred));
                threads.invokeAll(work);
            }
        }
        for (int i = 0; i < 300; i++) {
            try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
                inTurn(thread, hundred);
            }
        }
        assertEquals(90_000, cache.hits());
        assertEquals(1, cache.misses());
    }

    @Test
    @DisplayName("the number of hits never decreases while two threads use the cache")
    void countedMeanwhile() throws Exception {
        PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        cache.get(1, k -> k);
        Callable<Integer> work = () ->
                IntStream.range(0, 5_000_000).map(_ -> cache.get(1, k -> k)).sum();
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<Future<Integer>> pending = List.of(threads.submit(work), threads.submit(work));
            long before = 0;
            while (!pending.stream().allMatch(Future::isDone)) {
                for (int i = 0; i < 1000; i++) {
                    long hits = cache.hits();
                    if (hits < before) {
                        throw new AssertionError(before + " and then " + hits);
                    }
                    before = hits;
                }
            }
            assertTrue(before <= cache.hits());
        }
        assertEquals(10_000_000, cache.hits());
    }
}
