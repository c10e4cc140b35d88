package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Single-threaded tests of capacity, recency and counters. */
class PrimitiveCacheTest {
    private final List<Integer> built = new ArrayList<>();

    private String get(PrimitiveCache<Integer, String> cache, int key) {
        return cache.get(key, k -> {
            built.add(k);
            return "value " + k;
        });
    }

    private void getAll(PrimitiveCache<Integer, String> cache, int from, int to) {
        IntStream.range(from, to).forEach(key -> assertEquals("value " + key, get(cache, key)));
    }

    private static List<Integer> presentKeys(PrimitiveCache<Integer, String> cache) {
        return IntStream.range(0, 1000)
                .filter(key -> cache.peek(key) != null)
                .boxed()
                .toList();
    }

    private static void assertCounts(PrimitiveCache<?, ?> cache, long hits, long misses) {
        assertEquals(hits, cache.hits(), "hits");
        assertEquals(misses, cache.misses(), "misses");
    }

    @Test
    @DisplayName("the default capacity is 1024, the size 0")
    void empty() {
        PrimitiveCache<Integer, String> cache =
                new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY);
        assertEquals(1024, cache.capacity());
        assertEquals(0, cache.size());
        assertCounts(cache, 0, 0);
        assertNull(cache.peek(1));
    }

    @Test
    @DisplayName("capacity 0 clears and disables; raising it enables again")
    void zero() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(10);
        getAll(cache, 0, 5);
        cache.setCapacity(0);
        assertEquals(0, cache.size());
        getAll(cache, 0, 5);
        getAll(cache, 0, 5);
        assertEquals(0, cache.size());
        assertEquals(15, built.size());
        cache.setCapacity(3);
        getAll(cache, 0, 2);
        getAll(cache, 0, 2);
        assertEquals(2, cache.size());
        assertEquals(17, built.size());
        assertCounts(cache, 2, 17);
    }

    @Test
    @DisplayName("capacity 22 and 30 distinct keys: size 22, the last 22")
    void full() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(22);
        getAll(cache, 0, 30);
        assertEquals(22, cache.size());
        assertEquals(IntStream.range(8, 30).boxed().toList(), presentKeys(cache));
    }

    @Test
    @DisplayName("an equal or higher capacity keeps 12 of 12; lowering to 10 keeps the 10 most"
            + " recently used")
    void lowered() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(12);
        getAll(cache, 0, 12);
        cache.setCapacity(12);
        assertEquals(12, cache.size());
        cache.setCapacity(100);
        assertEquals(12, cache.size());
        get(cache, 0);
        get(cache, 2);
        cache.setCapacity(10);
        assertEquals(List.of(0, 2, 4, 5, 6, 7, 8, 9, 10, 11), presentKeys(cache));
        assertEquals(10, cache.capacity());
    }

    @Test
    @DisplayName("lowering from 100,000 values to 10 at once keeps the 10 most recently used")
    void loweredFar() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(100_000);
        getAll(cache, 0, 100_000);
        for (int key = 990; key >= 900; key -= 10) {
            get(cache, key);
        }
        cache.setCapacity(10);
        assertEquals(List.of(900, 910, 920, 930, 940, 950, 960, 970, 980, 990), presentKeys(cache));
        cache.setCapacity(9);
        assertNull(cache.peek(990), "the least recently used of the ten");
    }

    @Test
    @DisplayName("used values stay, the least recently used are evicted, a present key does not"
            + " increase the size")
    void recency() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(3);
        getAll(cache, 0, 3);
        get(cache, 0);
        get(cache, 0);
        assertEquals(3, cache.size());
        get(cache, 3);
        assertEquals(List.of(0, 2, 3), presentKeys(cache));
        get(cache, 2);
        get(cache, 4);
        assertEquals(List.of(2, 3, 4), presentKeys(cache));
        assertEquals(List.of(0, 1, 2, 3, 4), built);
    }

    @Test
    @DisplayName("peek changes neither recency nor counters")
    void peek() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(2);
        getAll(cache, 0, 2);
        assertEquals("value 0", cache.peek(0));
        get(cache, 2);
        assertEquals(List.of(1, 2), presentKeys(cache));
        assertCounts(cache, 0, 3);
    }

    @Test
    @DisplayName("capacity 10: 10 misses, 10 hits, 10 misses, the first 10 miss again: 30 builds")
    void numbers() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(10);
        getAll(cache, 0, 10);
        assertCounts(cache, 0, 10);
        getAll(cache, 0, 10);
        assertCounts(cache, 10, 10);
        getAll(cache, 10, 20);
        assertCounts(cache, 10, 20);
        getAll(cache, 0, 10);
        assertCounts(cache, 10, 30);
        assertEquals(30, built.size());
        assertEquals(10, cache.size());
    }

    @Test
    @DisplayName("capacity 0: every call is a miss")
    void alwaysMiss() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(0);
        getAll(cache, 0, 10);
        getAll(cache, 0, 10);
        assertCounts(cache, 0, 20);
        assertEquals(20, built.size());
    }

    @Test
    @DisplayName("a negative capacity is rejected, with the value in the message, and changes"
            + " nothing")
    void negative() {
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new PrimitiveCache<>(-1))
                .toString()
                .contains("-1"));
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(4);
        assertThrows(IllegalArgumentException.class, () -> cache.setCapacity(-7));
        assertEquals(4, cache.capacity());
    }

    @Test
    @DisplayName("a hit returns the same object that was built")
    void sameValue() {
        PrimitiveCache<List<String>, Object> cache = new PrimitiveCache<>(4);
        Object first = cache.get(List.of("a"), _ -> new Object());
        assertSame(first, cache.get(List.of("a"), _ -> new Object()));
    }

    @Test
    @DisplayName("size never exceeds the capacity; lowering evicts at once; 0 clears and"
            + " disables; raising enables again")
    void capacity() {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(22);
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
        assertThrows(IllegalArgumentException.class, () -> new PrimitiveCache<>(-1));
    }

    @Test
    @DisplayName("each evicted value is reported to the listener once, and no other; those that"
            + " leave together are one report")
    void evictions() {
        List<Long> evicted = new ArrayList<>();
        AtomicInteger begun = new AtomicInteger();
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(22, () -> {
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
        assertEquals(10, evicted.size());
        assertEquals(evicted.size(), begun.get());
    }
}
