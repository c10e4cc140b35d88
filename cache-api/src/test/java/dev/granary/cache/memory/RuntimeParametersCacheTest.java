package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.memory.RuntimeParametersCache.Outcome;
import dev.granary.cache.memory.RuntimeParametersCache.Partition;
import dev.granary.cache.memory.RuntimeParametersCache.Result;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Tests of the guarantees of OpenVINO's runtime-parameters cache, and of our additions. */
class RuntimeParametersCacheTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    private final List<Integer> built = new ArrayList<>();

    private String build(int key) {
        built.add(key);
        return "value " + key;
    }

    private void assertLookups(
            Partition<Integer, String> cache, int from, int to, Outcome expected) {
        IntStream.range(from, to)
                .forEach(key -> assertEquals(
                        new Result<>("value " + key, expected),
                        cache.getOrCreate(key, this::build)));
    }

    @Test
    @DisplayName("capacity 10: 10 misses, 10 hits, 10 new misses, the first 10 miss again: 30"
            + " builds")
    void numbers() {
        Partition<Integer, String> cache =
                new RuntimeParametersCache(10).partition(Integer.class, String.class);
        assertLookups(cache, 0, 10, Outcome.MISS);
        assertLookups(cache, 0, 10, Outcome.HIT);
        assertLookups(cache, 10, 20, Outcome.MISS);
        assertLookups(cache, 0, 10, Outcome.MISS);
        assertEquals(30, built.size());
        assertEquals(10, cache.size());
    }

    @Test
    @DisplayName("capacity 0: every call builds and is a miss")
    void zero() {
        Partition<Integer, String> cache =
                new RuntimeParametersCache(0).partition(Integer.class, String.class);
        assertLookups(cache, 0, 10, Outcome.MISS);
        assertLookups(cache, 0, 10, Outcome.MISS);
        assertEquals(20, built.size());
        assertEquals(0, cache.size());
    }

    @Test
    @DisplayName("used values stay, the least recently used is evicted")
    void recency() {
        Partition<Integer, String> cache =
                new RuntimeParametersCache(3).partition(Integer.class, String.class);
        assertLookups(cache, 0, 3, Outcome.MISS);
        assertLookups(cache, 0, 1, Outcome.HIT);
        assertLookups(cache, 3, 4, Outcome.MISS);
        assertLookups(cache, 0, 1, Outcome.HIT);
        assertLookups(cache, 2, 4, Outcome.HIT);
        assertLookups(cache, 1, 2, Outcome.MISS);
    }

    @Test
    @DisplayName("partitions by type of key and value are separate, each with its own capacity")
    void partitions() {
        RuntimeParametersCache cache = new RuntimeParametersCache(2);
        assertEquals(
                "1",
                cache.partition(Integer.class, String.class)
                        .getOrCreate(1, String::valueOf)
                        .value());
        assertEquals(
                new Result<>(1.0, Outcome.MISS),
                cache.partition(Integer.class, Double.class).getOrCreate(1, key -> (double) key),
                "same key, other type of value");
        assertEquals(
                new Result<>("L1", Outcome.MISS),
                cache.partition(Long.class, String.class).getOrCreate(1L, key -> "L" + key),
                "other type of key");
        assertEquals(
                new Result<>("1", Outcome.HIT),
                cache.partition(Integer.class, String.class).getOrCreate(1, _ -> "again"));
        assertEquals(
                new Result<>(1.0, Outcome.HIT),
                cache.partition(Integer.class, Double.class).getOrCreate(1, _ -> 2.0));

        Partition<Integer, Object> large = cache.partition(Integer.class, Object.class);
        large.setCapacity(5);
        IntStream.range(0, 9).forEach(key -> large.getOrCreate(key, _ -> new Object()));
        assertEquals(5, large.size());
        assertEquals(5, large.capacity());
        IntStream.range(2, 9).forEach(key -> cache.partition(Integer.class, String.class)
                .getOrCreate(key, String::valueOf));
        assertEquals(
                2, cache.partition(Integer.class, String.class).size(), "the cache's own capacity");
        assertEquals(5, large.size());
        assertSame(large, cache.partition(Integer.class, Object.class), "the same partition");
    }

    @Test
    @DisplayName("lowering a partition's capacity evicts the least recently used at once, 0 clears"
            + " it")
    void lowered() {
        RuntimeParametersCache cache = new RuntimeParametersCache(10);
        Partition<Integer, String> partition = cache.partition(Integer.class, String.class);
        assertLookups(partition, 0, 10, Outcome.MISS);
        assertLookups(partition, 0, 1, Outcome.HIT);
        cache.partition(Integer.class, String.class).setCapacity(2);
        assertEquals(2, partition.size());
        assertLookups(partition, 0, 1, Outcome.HIT);
        assertLookups(partition, 9, 10, Outcome.HIT);
        cache.partition(Integer.class, String.class).setCapacity(0);
        assertEquals(0, partition.size());
        assertLookups(partition, 0, 1, Outcome.MISS);
        assertEquals(0, partition.size());
    }

    @Test
    @DisplayName("an empty value is returned but not cached: the next call builds")
    void empty() {
        RuntimeParametersCache cache = new RuntimeParametersCache(10);
        Result<String> first =
                cache.partition(Integer.class, String.class).getOrCreate(1, _ -> null);
        assertNull(first.value());
        assertEquals(Outcome.MISS, first.outcome());
        assertEquals(0, cache.partition(Integer.class, String.class).size());
        assertEquals(
                new Result<>("value 1", Outcome.MISS),
                cache.partition(Integer.class, String.class).getOrCreate(1, this::build));
        assertEquals(
                new Result<>("value 1", Outcome.HIT),
                cache.partition(Integer.class, String.class).getOrCreate(1, this::build));
    }

    @Test
    @DisplayName("a builder's exception reaches the caller and nothing is cached; a builder may"
            + " look up other keys")
    void builders() {
        Partition<Integer, Integer> cache =
                new RuntimeParametersCache(100).partition(Integer.class, Integer.class);
        IllegalStateException failure = new IllegalStateException("on purpose");
        assertSame(
                failure,
                assertThrows(
                        IllegalStateException.class,
                        () -> cache.getOrCreate(1, _ -> {
                            throw failure;
                        })));
        assertEquals(0, cache.size());
        assertEquals(6765, fibonacci(cache, 20).value());
        assertEquals(21, cache.size());
        assertEquals(Outcome.HIT, fibonacci(cache, 20).outcome());
    }

    @Test
    @DisplayName("a builder may throw checked exceptions, which reach the caller as they are;"
            + " the next call builds again")
    void checkedException() throws Exception {
        RuntimeParametersCache cache = new RuntimeParametersCache(100);
        Partition<Integer, String> values = cache.partition(Integer.class, String.class);
        IOException failure = new IOException("on purpose");
        AtomicInteger calls = new AtomicInteger();
        RuntimeParametersCache.Builder<Integer, String, IOException> builder = key -> {
            if (calls.incrementAndGet() < 3) {
                throw failure;
            }
            return "value " + key;
        };
        assertSame(failure, assertThrows(IOException.class, () -> values.getOrCreate(1, builder)));
        assertEquals(0, values.size());
        // out of a nested builder, and by the cache's own method
        assertSame(
                failure,
                assertThrows(
                        IOException.class,
                        () -> values.getOrCreate(
                                2, _ -> cache.partition(Integer.class, String.class)
                                        .getOrCreate(1, builder)
                                        .value())));
        assertEquals(0, values.size());
        assertEquals(new Result<>("value 1", Outcome.MISS), values.getOrCreate(1, builder));
        assertEquals(new Result<>("value 1", Outcome.HIT), values.getOrCreate(1, builder));
        assertEquals(3, calls.get());
    }

    @Test
    @DisplayName("capacities can be read, and set for a partition at any time")
    void capacities() {
        RuntimeParametersCache cache = new RuntimeParametersCache(5);
        Partition<Integer, String> values = cache.partition(Integer.class, String.class);
        assertEquals(5, cache.capacity());
        assertEquals(5, values.capacity());
        assertLookups(values, 0, 5, Outcome.MISS);
        values.setCapacity(2);
        assertEquals(2, values.capacity());
        assertEquals(2, values.size());
        assertLookups(values, 3, 5, Outcome.HIT);
        assertThrows(IllegalArgumentException.class, () -> values.setCapacity(-1));
        assertEquals(2, values.capacity());
        assertEquals(5, cache.capacity(), "of new partitions");
        cache.close();
        assertEquals(0, cache.capacity());
        assertEquals(0, values.capacity());
    }

    private static Result<Integer> fibonacci(Partition<Integer, Integer> cache, int number) {
        return cache.getOrCreate(
                number,
                n -> n < 2
                        ? n
                        : fibonacci(cache, n - 1).value()
                                + fibonacci(cache, n - 2).value());
    }

    @Test
    @DisplayName("hits return the same object: they allocate nothing")
    void sameResult() {
        Partition<Integer, String> cache =
                new RuntimeParametersCache(4).partition(Integer.class, String.class);
        Result<String> first = cache.getOrCreate(1, this::build);
        Result<String> second = cache.getOrCreate(1, this::build);
        assertSame(first.value(), second.value());
        assertSame(second, cache.getOrCreate(1, this::build));
    }

    @Test
    @DisplayName("a negative capacity is rejected, with the value in the message")
    void negative() {
        assertTrue(
                assertThrows(IllegalArgumentException.class, () -> new RuntimeParametersCache(-1))
                        .toString()
                        .contains("-1"));
        RuntimeParametersCache cache = new RuntimeParametersCache(4);
        assertThrows(
                IllegalArgumentException.class,
                () -> cache.partition(Integer.class, String.class).setCapacity(-5));
        assertEquals(4, cache.partition(Integer.class, String.class).capacity());
    }

    /** A key that lets another thread run during a comparison. */
    private record SlowKey(CountDownLatch compared, CountDownLatch go) {
        @Override
        public int hashCode() {
            compared.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return 1;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return this == other;
        }
    }

    @Test
    @DisplayName(
            "concurrent use by a second thread throws an exception, and the cache stays usable")
    void misuse() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            Partition<Object, String> cache =
                    new RuntimeParametersCache(4).partition(Object.class, String.class);
            SlowKey slow = new SlowKey(new CountDownLatch(1), new CountDownLatch(1));
            Thread first = Thread.ofPlatform().start(() -> cache.getOrCreate(slow, _ -> "slow"));
            slow.compared.await();
            assertThrows(
                    ConcurrentModificationException.class,
                    () -> cache.getOrCreate("key", _ -> "value"));
            slow.go.countDown();
            first.join();
            assertEquals(Outcome.MISS, cache.getOrCreate("key", _ -> "value").outcome());
            assertEquals(Outcome.HIT, cache.getOrCreate("key", _ -> "value").outcome());
        });
    }

    /** A key as it should not be: it contains a data address. */
    private record Addressed(int shape, long address) {}

    @Test
    @DisplayName("with an address in the key each call is a miss; without it, the same shape hits")
    void addressInKey() {
        RuntimeParametersCache cache = new RuntimeParametersCache(10);
        for (long address = 1000; address < 1003; address++) {
            assertEquals(
                    Outcome.MISS,
                    cache.partition(Addressed.class, String.class)
                            .getOrCreate(new Addressed(5, address), Addressed::toString)
                            .outcome());
        }
        List<Outcome> outcomes = IntStream.range(0, 3)
                .mapToObj(_ -> cache.partition(Integer.class, String.class)
                        .getOrCreate(5, String::valueOf)
                        .outcome())
                .toList();
        assertEquals(List.of(Outcome.MISS, Outcome.HIT, Outcome.HIT), outcomes);
    }

    /** A value that owns native resources. */
    private static final class Native implements AutoCloseable {
        private final List<Integer> closed;
        private final int key;

        Native(List<Integer> closed, int key) {
            this.closed = closed;
            this.key = key;
        }

        @Override
        public void close() {
            closed.add(key);
        }
    }

    @Test
    @DisplayName("evicted values are closed by default, once each: by eviction, a lower capacity or"
            + " close; cached ones are not")
    void leavesClosed() {
        List<Integer> closed = new ArrayList<>();
        RuntimeParametersCache cache = new RuntimeParametersCache(1);
        var partition = cache.partition(Integer.class, Native.class);
        for (int shape = 0; shape < 40; shape++) {
            partition.getOrCreate(shape, key -> new Native(closed, key));
            assertEquals(shape, closed.size());
        }
        assertEquals(IntStream.range(0, 39).boxed().toList(), closed);
        closed.clear();
        cache.partition(Integer.class, Native.class).setCapacity(3);
        partition.getOrCreate(40, key -> new Native(closed, key));
        partition.getOrCreate(41, key -> new Native(closed, key));
        partition.getOrCreate(39, key -> new Native(closed, key));
        cache.partition(Integer.class, Native.class).setCapacity(1);
        assertEquals(List.of(40, 41), closed);
        cache.close();
        assertEquals(List.of(40, 41, 39), closed);
        assertEquals(0, partition.size());
        assertEquals(
                Outcome.MISS,
                partition.getOrCreate(1, key -> new Native(closed, key)).outcome());
        assertEquals(0, partition.size());
        cache.close();
        cache.close();
        assertEquals(List.of(40, 41, 39, 1), closed);
    }

    @Test
    @DisplayName("a value that is not cached is closed at the next build, not while the caller or a"
            + " builder uses it")
    void notKept() {
        List<Integer> closed = new ArrayList<>();
        var partition = new RuntimeParametersCache(0).partition(Integer.class, Native.class);
        partition.getOrCreate(1, key -> new Native(closed, key));
        assertEquals(List.of(), closed);
        partition.getOrCreate(2, key -> {
            assertEquals(List.of(1), closed);
            partition.getOrCreate(3, part -> new Native(closed, part));
            partition.getOrCreate(4, part -> new Native(closed, part));
            assertEquals(List.of(1), closed, "the builder uses it");
            return new Native(closed, key);
        });
        assertEquals(List.of(1), closed);
        partition.getOrCreate(5, _ -> null);
        assertEquals(List.of(1, 3, 4, 2), closed);
    }

    @Test
    @DisplayName("a value that a builder got by a hit is not closed when the built value evicts"
            + " it, but with the next build")
    void evictedAfterNestedHit() {
        List<Integer> closed = new ArrayList<>();
        var partition = new RuntimeParametersCache(1).partition(Integer.class, Native.class);
        Native first = partition.getOrCreate(1, key -> new Native(closed, key)).value();
        partition.getOrCreate(2, key -> {
            assertSame(
                    first,
                    partition.getOrCreate(1, part -> new Native(closed, 9)).value());
            return new Native(closed, key);
        });
        assertEquals(List.of(), closed, "the value may refer to it");
        partition.getOrCreate(3, key -> new Native(closed, key));
        assertEquals(List.of(1, 2), closed);
    }

    @Test
    @DisplayName("values that a builder looked up are not closed while it runs, even if evicted"
            + " meanwhile")
    void evictedWhileBuilding() {
        List<Integer> closed = new ArrayList<>();
        var partition = new RuntimeParametersCache(1).partition(Integer.class, Native.class);
        partition.getOrCreate(1, key -> new Native(closed, key));
        partition.getOrCreate(2, key -> {
            partition.getOrCreate(3, part -> new Native(closed, part));
            partition.getOrCreate(4, part -> new Native(closed, part));
            assertEquals(List.of(), closed);
            return new Native(closed, key);
        });
        assertEquals(List.of(), closed, "the value may refer to them");
        partition.getOrCreate(5, key -> new Native(closed, key));
        assertEquals(List.of(1, 3, 4, 2), closed);
    }

    @Test
    @DisplayName("after a failed builder, even a nested one, evicted values are closed as before")
    void failedBuilder() {
        List<Integer> closed = new ArrayList<>();
        var partition = new RuntimeParametersCache(1).partition(Integer.class, Native.class);
        assertThrows(
                IllegalStateException.class,
                () -> partition.getOrCreate(1, _ -> partition
                        .getOrCreate(2, _ -> {
                            throw new IllegalStateException("on purpose");
                        })
                        .value()));
        for (int key = 3; key < 6; key++) {
            partition.getOrCreate(key, number -> new Native(closed, number));
        }
        assertEquals(List.of(3, 4), closed);
    }

    @Test
    @DisplayName("a builder that lowers the capacity: evicted values are closed after it; the"
            + " listener is not called for an empty value")
    void loweredWhileBuilding() {
        List<Integer> closed = new ArrayList<>();
        RuntimeParametersCache cache = new RuntimeParametersCache(2);
        var partition = cache.partition(Integer.class, Native.class);
        partition.getOrCreate(1, key -> new Native(closed, key));
        partition.getOrCreate(2, key -> {
            cache.partition(Integer.class, Native.class).setCapacity(0);
            assertEquals(List.of(), closed, "the builder may use it");
            return new Native(closed, key);
        });
        assertEquals(List.of(1), closed);
        List<Integer> evicted = new ArrayList<>();
        var observed = cache.partition(Integer.class, String.class);
        observed.setCapacity(0);
        observed.onEviction((key, _) -> evicted.add(key));
        observed.getOrCreate(1, _ -> null);
        observed.getOrCreate(2, _ -> "not kept");
        observed.getOrCreate(3, _ -> null);
        assertEquals(List.of(2), evicted);
    }

    @Test
    @DisplayName("a listener is called for later evictions, and may use a cache being closed, which"
            + " caches nothing")
    void listenerFromNowOn() {
        List<Integer> closed = new ArrayList<>();
        List<Integer> evicted = new ArrayList<>();
        List<Integer> capacities = new ArrayList<>();
        RuntimeParametersCache cache = new RuntimeParametersCache(2);
        var partition = cache.partition(Integer.class, Native.class);
        partition.getOrCreate(1, key -> new Native(closed, key));
        partition.getOrCreate(2, key -> new Native(closed, key));
        partition.setCapacity(1);
        partition.onEviction((key, _) -> {
            evicted.add(key);
            capacities.add(cache.partition(String.class, String.class).capacity());
            capacities.add(cache.partition(Long.class, String.class).capacity());
        });
        assertEquals(List.of(1), closed, "evicted before");
        cache.partition(Byte.class, String.class);
        cache.close();
        assertEquals(List.of(2), evicted);
        assertEquals(List.of(0, 0), capacities);
        assertEquals(List.of(1), closed);
    }

    @Test
    @DisplayName("if closing an evicted value is interrupted, the thread keeps its status and the"
            + " call returns")
    void closingInterrupted() {
        RuntimeParametersCache cache = new RuntimeParametersCache(1);
        var partition = cache.partition(Integer.class, AutoCloseable.class);
        partition.getOrCreate(1, _ -> () -> {
            throw new InterruptedException("on purpose");
        });
        cache.close();
        assertTrue(Thread.interrupted());
        assertEquals(0, partition.size());
    }

    @Test
    @DisplayName("a listener is called for each evicted value with its key, instead of a close; it"
            + " may use the cache; its failure is logged")
    void listener() {
        List<Integer> closed = new ArrayList<>();
        List<Integer> evicted = new ArrayList<>();
        RuntimeParametersCache cache = new RuntimeParametersCache(5);
        var others = cache.partition(String.class, String.class);
        var partition = cache.partition(Integer.class, Native.class);
        partition.setCapacity(1);
        partition.onEviction((key, value) -> {
            assertEquals(key, value.key);
            evicted.add(key);
            others.getOrCreate("seen " + key, text -> text);
            throw new IllegalStateException("on purpose, for the test of a listener that fails");
        });
        for (int key = 0; key < 3; key++) {
            partition.getOrCreate(key, number -> new Native(closed, number));
        }
        cache.close();
        assertEquals(List.of(0, 1, 2), evicted);
        assertEquals(List.of(), closed);
    }

    @Test
    @DisplayName("a builder that looks up its own key: the value built first is cached, once, and"
            + " the other is closed later")
    void ownKey() {
        List<Integer> closed = new ArrayList<>();
        var partition = new RuntimeParametersCache(2).partition(Integer.class, Native.class);
        Native outer = partition
                .getOrCreate(1, key -> {
                    partition.getOrCreate(key, _ -> new Native(closed, 100));
                    return new Native(closed, 200);
                })
                .value();
        assertEquals(200, outer.key);
        assertEquals(1, partition.size());
        assertEquals(
                100, partition.getOrCreate(1, key -> new Native(closed, key)).value().key);
        assertEquals(List.of(), closed);
        partition.getOrCreate(2, key -> new Native(closed, key));
        assertEquals(List.of(200), closed);
        assertEquals(2, partition.size());
        partition.getOrCreate(3, key -> new Native(closed, key));
        partition.getOrCreate(4, key -> new Native(closed, key));
        assertEquals(List.of(200, 100, 2), closed);
        assertEquals(2, partition.size());
        assertEquals(
                Outcome.MISS,
                partition.getOrCreate(1, key -> new Native(closed, key)).outcome());
    }
}
