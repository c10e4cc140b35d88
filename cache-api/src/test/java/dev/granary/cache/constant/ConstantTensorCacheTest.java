package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;

/** Tests of one device's cache: its content, keys and ownership. */
class ConstantTensorCacheTest {
    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
    private final ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);

    @AfterEach
    void nothingLeaks() {
        caches.close();
        memory.assertAllFreed();
        assertEquals(0, cache.statistics().promisedBytes());
    }

    private static ConstantHold<Piece> uncached(
            ConstantTensorCache cache, Object key, long megabytes) {
        return cache.get(key(key), megabytes * MEGABYTE, () -> {
            throw new AssertionError("made again: " + key);
        });
    }

    @Test
    @DisplayName("5 MB: 1 + 2 are cached, 3 is not, and the cached ones still hit")
    void full() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        memory.use(cache, "one", 1);
        memory.use(cache, "two", 2);
        assertEquals(3 * MEGABYTE, cache.statistics().bytes());
        memory.use(cache, "three", 3);
        assertEquals(3 * MEGABYTE, cache.statistics().bytes(), "3 does not fit, and is not cached");
        assertEquals(2, memory.live(), "its memory is freed with its user");
        uncached(cache, "one", 1).close();
        uncached(cache, "two", 2).close();
        memory.use(cache, "three", 3);
        assertEquals(
                new ConstantTensorCache.Statistics(4, 2, 2, 0, 0, 2, 3 * MEGABYTE, 0),
                cache.statistics());
    }

    @Test
    @DisplayName("a tensor that fills the budget to the last byte is cached; one byte more is not")
    void exact() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        memory.use(cache, "two", 2);
        cache.get(key("large"), 3 * MEGABYTE + 1, () -> memory.allocate("large", 3 * MEGABYTE + 1))
                .close();
        assertFalse(cache.isCached(key("large")));
        memory.use(cache, "three", 3);
        assertEquals(5 * MEGABYTE, cache.statistics().bytes());
    }

    @Test
    @DisplayName("unlimited by default: everything is cached")
    void unlimited() {
        assertEquals(Limit.UNLIMITED, cache.limit().megabytes());
        for (int i = 0; i < 50; i++) {
            memory.use(cache, i, 1L << 30); // a petabyte each
        }
        assertEquals(50L << 50, cache.statistics().bytes());
        assertEquals(0, cache.statistics().notKept());
    }

    @Test
    @DisplayName("capacity 0: nothing is cached, every caller computes its own tensor")
    void disabled() {
        caches.setLimit(EngineKind.GPU, Limit.of(0));
        try (ConstantHold<Piece> first = memory.take(cache, "k", 1);
                ConstantHold<Piece> second = memory.take(cache, "k", 1)) {
            assertNotSame(first.buffer(), second.buffer());
            assertFalse(first.isCached());
        }
        assertEquals(0, memory.live());
        assertEquals(0, cache.statistics().bytes());
    }

    @Test
    @DisplayName("back-end ids never collide: one key of two back-ends with equal hashes denotes"
            + " two tensors")
    void backends() {
        record Colliding(String name) {
            @Override
            public int hashCode() {
                return 7;
            }
        }
        ConstantTensorCache.Key<Piece> one = new ConstantTensorCache.Key<>(
                Piece.class, "one", FakeDeviceMemory.CONTEXT, new Colliding("k"));
        ConstantTensorCache.Key<Piece> other = new ConstantTensorCache.Key<>(
                Piece.class, "other", FakeDeviceMemory.CONTEXT, new Colliding("k"));
        ConstantTensorCache.Key<Piece> neighbour = new ConstantTensorCache.Key<>(
                Piece.class, "one", FakeDeviceMemory.CONTEXT, new Colliding("l"));
        for (ConstantTensorCache.Key<Piece> key : List.of(one, other, neighbour)) {
            cache.get(key, 1, () -> memory.allocate(key, 1)).close();
        }
        assertEquals(3, memory.allocated());
        for (ConstantTensorCache.Key<Piece> key : List.of(one, other, neighbour)) {
            try (ConstantHold<Piece> found = cache.get(key, 1, () -> memory.allocate("wrong", 1))) {
                assertSame(key, found.buffer().content);
            }
        }
        assertTrue(cache.removeIfExist(other));
        assertTrue(cache.isCached(one));
    }

    @Test
    @DisplayName("all back-ends of a device share one budget")
    void oneBudget() {
        caches.setLimit(EngineKind.GPU, Limit.of(2));
        for (String backend : List.of("one", "other", "third")) {
            cache.get(
                            new ConstantTensorCache.Key<>(
                                    Piece.class, backend, FakeDeviceMemory.CONTEXT, "k"),
                            MEGABYTE,
                            () -> memory.allocate(backend, MEGABYTE))
                    .close();
        }
        assertEquals(2 * MEGABYTE, cache.statistics().bytes());
        assertEquals(1, cache.statistics().notKept());
    }

    @Test
    @DisplayName("a tensor that one user keeps and another requests at each use is the same,"
            + " and limits treat both alike")
    void keptAndRequested() {
        caches.setLimit(EngineKind.GPU, Limit.of(2));
        try (ConstantHold<Piece> kept = memory.take(cache, "k", 1)) {
            for (int use = 0; use < 3; use++) {
                try (ConstantHold<Piece> requested = memory.take(cache, "k", 1)) {
                    assertSame(kept.buffer(), requested.buffer());
                    assertTrue(requested.isCached());
                }
            }
            assertEquals(1, memory.allocated());
            caches.setLimit(EngineKind.GPU, Limit.of(1)); // flushes
            assertFalse(kept.isCached());
            try (ConstantHold<Piece> again = memory.take(cache, "k", 1)) {
                assertNotSame(kept.buffer(), again.buffer());
                assertFalse(kept.buffer().isFreed(), "in use");
            }
        }
        assertEquals(2, memory.allocated());
    }

    @Test
    @DisplayName("contexts of one device do not share tensors; one is removed without the other")
    void contexts() {
        ConstantTensorCache.Key<Piece> here =
                new ConstantTensorCache.Key<>(Piece.class, "test", "here", "k");
        ConstantTensorCache.Key<Piece> there =
                new ConstantTensorCache.Key<>(Piece.class, "test", "there", "k");
        try (ConstantHold<Piece> first = cache.get(here, 1, () -> memory.allocate("here", 1));
                ConstantHold<Piece> second =
                        cache.get(there, 1, () -> memory.allocate("there", 1))) {
            assertNotSame(first.buffer(), second.buffer());
            cache.removeContext("here");
            assertFalse(first.isCached());
            assertTrue(second.isCached());
            assertFalse(first.buffer().isFreed(), "its user still holds it");
        }
        assertEquals(1, memory.live());
        assertEquals(1, cache.statistics().bytes());
    }

    @Test
    @DisplayName("a removed tensor is freed once, after its last hold is closed; a second close has"
            + " no effect")
    void coOwned() {
        ConstantHold<Piece> first = memory.take(cache, "k", 1);
        ConstantHold<Piece> second = uncached(cache, "k", 1);
        Piece piece = first.buffer();
        assertSame(piece, second.buffer());
        assertTrue(cache.removeIfExist(key("k")));
        assertFalse(cache.removeIfExist(key("k")), "already removed");
        first.close();
        first.close();
        assertFalse(piece.isFreed());
        assertThrows(IllegalStateException.class, first::buffer);
        assertSame(piece, second.buffer());
        second.close();
        assertTrue(piece.isFreed());
    }

    @Test
    @DisplayName("a cached tensor without users stays; a flush frees it at once")
    void cachedWithoutUsers() {
        memory.use(cache, "k", 1);
        assertEquals(1, memory.live());
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        assertEquals(0, memory.live());
    }

    @Test
    @DisplayName("a removed tensor is computed again; its old holds stay valid")
    void madeAgain() {
        try (ConstantHold<Piece> old = memory.take(cache, "k", 1)) {
            cache.removeIfExist(key("k"));
            try (ConstantHold<Piece> anew = memory.take(cache, "k", 1)) {
                assertNotSame(old.buffer(), anew.buffer());
                assertTrue(anew.isCached());
                assertFalse(old.isCached());
            }
        }
        assertEquals(1, memory.live());
    }

    @Test
    @DisplayName("a factory that fails, checked, unchecked or by null: the caller gets the"
            + " exception, nothing is cached or reserved, the next one computes")
    void failures() {
        caches.setLimit(EngineKind.GPU, Limit.of(1));
        IOException checked = new IOException("disk");
        assertSame(
                checked,
                assertThrows(
                        IOException.class,
                        () -> cache.get(key("k"), MEGABYTE, () -> {
                            throw checked;
                        })));
        StackOverflowError error = new StackOverflowError();
        assertSame(
                error,
                assertThrows(
                        StackOverflowError.class,
                        () -> cache.get(key("k"), MEGABYTE, () -> {
                            throw error;
                        })));
        assertThrows(
                NullPointerException.class,
                () -> cache.get(key("k"), MEGABYTE, ConstantTensorCacheTest::nothing));
        assertEquals(
                new ConstantTensorCache.Statistics(0, 0, 0, 0, 3, 0, 0, 0), cache.statistics());
        memory.use(cache, "k", 1);
        assertTrue(cache.isCached(key("k")));
    }

    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
    private static <T> T nothing() {
        return null;
    }

    @Test
    @DisplayName("a constant may be computed from others; one that needs itself is an error, not a"
            + " deadlock")
    void nested() {
        cache.get(key("folded"), MEGABYTE, () -> {
                    try (ConstantHold<Piece> part =
                            cache.get(key("part"), 1, () -> memory.allocate("part", 1))) {
                        return memory.allocate("folded " + part.buffer().content, MEGABYTE);
                    }
                })
                .close();
        try (ConstantHold<Piece> folded = uncached(cache, "folded", 1)) {
            assertEquals("folded part", folded.buffer().content);
        }
        assertThrows(
                IllegalStateException.class,
                () -> cache.get(key("cycle"), 1, () -> cache.get(
                                key("cycle"), 1, () -> memory.allocate("cycle", 1))
                        .buffer()));
        assertFalse(cache.isCached(key("cycle")));
    }

    @Test
    @DisplayName("A size that is not positive is rejected")
    void sizes() {
        assertThrows(IllegalArgumentException.class, () -> cache.getOrAdd(key("k"), 0));
        assertThrows(IllegalArgumentException.class, () -> cache.getOrAdd(key("k"), -1));
    }

    @Test
    @DisplayName("closed caches cache nothing more, and open holds stay valid")
    void closed() {
        ConstantHold<Piece> held = memory.take(cache, "k", 1);
        caches.close();
        assertFalse(held.buffer().isFreed());
        assertFalse(held.isCached());
        memory.use(cache, "k", 1);
        memory.use(caches.of(EngineKind.CPU, 0), "k", 1); // a cache created after the close
        assertEquals(0, caches.statistics().bytes());
        held.close();
        assertThrows(
                IllegalStateException.class, () -> caches.setLimit(EngineKind.GPU, Limit.of(1)));
        assertThrows(
                IllegalStateException.class,
                () -> caches.setLimit(new ConstantTensorCachesTest.Gpu(0), Limit.of(1)));
    }
}
