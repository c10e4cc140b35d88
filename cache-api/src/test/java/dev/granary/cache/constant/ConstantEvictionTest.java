package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Tests of the eviction policies with a manual clock, and of eviction callbacks. */
class ConstantEvictionTest {
    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private long now;
    private final ConstantTensorCaches caches =
            new ConstantTensorCaches(ConstantLimits.NONE, () -> now, Duration.ofDays(1));
    private final ConstantTensorCache cache = caches.of(EngineKind.CPU, 0);

    @AfterEach
    void nothingLeaks() {
        caches.close();
        memory.assertAllFreed();
    }

    /** Gets a tensor with a given compute time in nanoseconds. */
    private void use(Object name, long megabytes, long cost) {
        cache.get(key(name), megabytes * MEGABYTE, () -> {
                    now += cost;
                    return memory.allocate(name, megabytes * MEGABYTE);
                })
                .close();
    }

    private String cached(Object... names) {
        return Stream.of(names)
                .filter(name -> cache.isCached(key(name)))
                .map(Object::toString)
                .reduce("", String::concat);
    }

    @Test
    @DisplayName("LRU: the least recently used tensors are evicted, no more than needed; a hit is a"
            + " use")
    void leastRecentlyUsed() {
        caches.setLimit(EngineKind.CPU, new Limit(4, ConstantPolicy.LRU));
        for (String name : List.of("a", "b", "c", "d")) {
            use(name, 1, 1);
        }
        use("a", 1, 1);
        use("e", 2, 1);
        assertEquals("ade", cached("a", "b", "c", "d", "e"));
        assertEquals(4 * MEGABYTE, cache.statistics().bytes());
        assertEquals(2, cache.statistics().evicted());
    }

    @Test
    @DisplayName("LRU: promised tensors are not evicted; a tensor that does not fit beside them is"
            + " not cached and evicts nothing")
    void promisesStay() {
        caches.setLimit(EngineKind.CPU, new Limit(4, ConstantPolicy.LRU));
        use("a", 1, 1);
        cache.get(key("slow"), 3 * MEGABYTE, () -> {
                    assertEquals(3 * MEGABYTE, cache.statistics().promisedBytes());
                    use("b", 2, 1);
                    assertEquals("a", cached("a", "b"), "a alone does not make room for b");
                    use("c", 1, 1);
                    assertEquals("c", cached("a", "b", "c"));
                    return memory.allocate("slow", 3 * MEGABYTE);
                })
                .close();
        assertEquals("cslow", cached("a", "b", "c", "slow"));
        assertEquals(0, cache.statistics().promisedBytes());
    }

    @ParameterizedTest
    @EnumSource(ConstantPolicy.class)
    @DisplayName("a tensor larger than the whole budget is never cached and evicts nothing, under"
            + " any policy and cost")
    void tooLarge(ConstantPolicy policy) {
        caches.setLimit(EngineKind.CPU, new Limit(4, policy));
        use("a", 2, 1);
        use("b", 2, 1);
        use("large", 5, 1_000_000);
        assertEquals("ab", cached("a", "b", "large"));
        assertEquals(0, cache.statistics().evicted());
    }

    @Test
    @DisplayName("COST keeps expensive tensors: the lowest cost per byte is evicted first")
    void cheapestFirst() {
        caches.setLimit(EngineKind.CPU, new Limit(6, ConstantPolicy.COST));
        use("a", 1, 50);
        use("b", 4, 80); // 20 per MB: the cheapest, although it took longer than a
        use("c", 1, 60);
        use("d", 1, 100);
        assertEquals("acd", cached("a", "b", "c", "d"));
        use("e", 4, 300); // 3 MB are free: a is evicted, which took 50
        assertEquals("cde", cached("a", "b", "c", "d", "e"));
    }

    @Test
    @DisplayName("COST never evicts tensors that together took as long as the new one or longer")
    void expensiveStays() {
        caches.setLimit(EngineKind.CPU, new Limit(4, ConstantPolicy.COST));
        use("a", 2, 100);
        use("b", 2, 100);
        use("same", 1, 100);
        assertEquals("ab", cached("a", "b", "same"));
        use("both", 4, 200);
        assertEquals(
                "ab",
                cached("a", "b", "both"),
                "two that took 100 each for one that took 200 gain nothing");
        assertEquals(0, cache.statistics().evicted());
        use("more", 4, 201);
        assertEquals("more", cached("a", "b", "more"));
    }

    @Test
    @DisplayName("COST: a small cheap tensor stays if a larger one must be evicted anyway")
    void unneeded() {
        caches.setLimit(EngineKind.CPU, new Limit(4, ConstantPolicy.COST));
        use("small", 1, 10);
        use("large", 3, 60);
        use("new", 3, 100);
        assertEquals("smallnew", cached("small", "large", "new"));
    }

    @Test
    @DisplayName("COST: of equally cheap tensors the least recently used is evicted")
    void equallyCheap() {
        caches.setLimit(EngineKind.CPU, new Limit(6, ConstantPolicy.COST));
        List<String> names = List.of("a", "b", "c", "d", "e", "f");
        names.forEach(name -> use(name, 1, 10));
        names.reversed().forEach(name -> use(name, 1, 10));
        String remaining = "abcdef";
        for (int i = 0; i < 6; i++) {
            use("new" + i, 1, 11);
            remaining = remaining.substring(0, remaining.length() - 1);
            assertEquals(remaining, cached(names.toArray()));
        }
    }

    @Test
    @DisplayName("COST: a failed computation evicts nothing, since victims are selected at its"
            + " completion")
    void failedComputation() {
        caches.setLimit(EngineKind.CPU, new Limit(1, ConstantPolicy.COST));
        use("a", 1, 1);
        ConstantTensorCache.Lookup.Miss<Piece> miss =
                (ConstantTensorCache.Lookup.Miss<Piece>) cache.getOrAdd(key("b"), MEGABYTE);
        now += 100;
        miss.promise().fail(new IllegalStateException("no"));
        assertEquals("a", cached("a", "b"));
    }

    @Test
    @DisplayName("NO_EVICT: cached tensors stay, however cheap and unused")
    void noEviction() {
        caches.setLimit(EngineKind.CPU, Limit.of(2));
        use("a", 1, 1);
        use("b", 1, 1);
        use("c", 1, 1_000);
        assertEquals("ab", cached("a", "b", "c"));
    }

    @Test
    @DisplayName("a tensor evicted while in use stays valid until released; its callback runs once,"
            + " outside all locks")
    void callback() {
        caches.setLimit(EngineKind.CPU, new Limit(1, ConstantPolicy.LRU));
        ConstantHold<Piece> held = memory.take(cache, "a", 1);
        List<String> events = new ArrayList<>();
        held.onEviction(() -> {
            events.add("evicted");
            assertFalse(held.isCached());
            assertFalse(held.buffer().isFreed());
            // Another thread can use the cache meanwhile: no lock is held.
            Thread other = Thread.ofPlatform()
                    .start(() -> events.add("size " + cache.statistics().bytes()));
            join(other);
            held.close();
        });
        assertTrue(held.isCached());
        use("b", 1, 1);
        assertEquals(List.of("evicted", "size 0"), events, "b was promised when a was evicted");
        use("c", 1, 1);
        assertEquals(2, events.size());
        assertEquals(1, memory.live());
    }

    private static void join(Thread thread) {
        try {
            thread.join(Duration.ofMinutes(10));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    @DisplayName("a holder with a callback reuses its hold in later executions without another"
            + " lookup")
    void holder() {
        caches.setLimit(EngineKind.CPU, new Limit(2, ConstantPolicy.LRU));
        List<ConstantHold<Piece>> hold = new ArrayList<>();
        for (int execution = 0; execution < 100; execution++) {
            if (hold.isEmpty()) {
                ConstantHold<Piece> constant = memory.take(cache, "weights", 1);
                hold.add(constant);
                constant.onEviction(() -> {
                    hold.remove(constant);
                    constant.close();
                });
            }
            assertEquals("weights", hold.getFirst().buffer().content);
            if (execution == 50) {
                cache.removeIfExist(key("weights"));
            }
        }
        assertEquals(2, cache.statistics().made());
        assertEquals(0, cache.statistics().reused(), "98 executions made no lookup");
        hold.getFirst().close();
    }

    @Test
    @DisplayName("a callback on a tensor that is not cached runs at once; one of a closed hold"
            + " never runs")
    void callbackAfterwards() {
        List<String> events = new ArrayList<>();
        ConstantHold<Piece> gone = memory.take(cache, "gone", 1);
        cache.removeIfExist(key("gone"));
        gone.onEviction(() -> events.add("at once"));
        assertEquals(List.of("at once"), events);
        gone.close();
        gone.onEviction(() -> events.add("closed"));
        ConstantHold<Piece> closed = memory.take(cache, "k", 1);
        ConstantHold<Piece> open = memory.take(cache, "k", 1);
        closed.onEviction(() -> events.add("closed"));
        open.onEviction(() -> events.add("open"));
        closed.close();
        cache.removeIfExist(key("k"));
        assertEquals(List.of("at once", "open"), events);
        open.close();
    }

    @Test
    @DisplayName("a callback that throws does not affect other callbacks, the eviction, or the"
            + " release of memory")
    void throwingCallback() {
        caches.setLimit(EngineKind.CPU, new Limit(2, ConstantPolicy.LRU));
        List<String> events = new ArrayList<>();
        for (String name : List.of("a", "b")) {
            ConstantHold<Piece> constant = memory.take(cache, name, 1);
            constant.onEviction(() -> {
                throw new AssertionError("on purpose, for the test of callbacks that throw");
            });
            constant.onEviction(() -> events.add(name));
            constant.onEviction(constant::close);
        }
        use("c", 2, 1);
        assertEquals(List.of("a", "b"), events);
        assertEquals("c", cached("a", "b", "c"));
        assertEquals(1, memory.live());
    }

    @Test
    @DisplayName("memory that cannot be freed does not affect the cache")
    void throwingFree() {
        record Stuck(List<String> log) implements AutoCloseable {
            @Override
            public void close() throws java.io.IOException {
                log.add("tried");
                throw new java.io.IOException(
                        "on purpose, for the test of memory that cannot be freed");
            }
        }
        List<String> log = new ArrayList<>();
        cache.get(
                        new ConstantTensorCache.Key<>(Stuck.class, "test", "c", "k"),
                        1,
                        () -> new Stuck(log))
                .close();
        memory.use(cache, "a", 1);
        caches.setLimit(EngineKind.CPU, Limit.of(1));
        assertEquals(List.of("tried"), log);
        assertEquals(0, memory.live());
    }
}
