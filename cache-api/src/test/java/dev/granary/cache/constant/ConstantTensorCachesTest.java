package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Tests of limits for kinds and devices, and their effects on cached tensors. */
class ConstantTensorCachesTest {
    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);

    @AfterEach
    void nothingLeaks() {
        caches.close();
        memory.assertAllFreed();
    }

    private ConstantTensorCache filled(EngineKind kind, int index) {
        ConstantTensorCache cache = caches.of(kind, index);
        memory.use(cache, "k", 1);
        return cache;
    }

    private static boolean isFilled(ConstantTensorCache cache) {
        return cache.isCached(key("k")) && cache.statistics().bytes() == MEGABYTE;
    }

    private static ConstantLimits configured(
            EngineKind kind, long megabytes, ConstantPolicy policy) {
        return new ConstantLimits(Map.of(kind, new Limit(megabytes, policy)));
    }

    @Test
    @DisplayName("each device of each kind has its own cache, the same for all callers")
    void dedicated() {
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        assertSame(cache, caches.of(EngineKind.GPU, 0));
        for (ConstantTensorCache other :
                List.of(caches.of(EngineKind.GPU, 1), caches.of(EngineKind.CPU, 0))) {
            assertFalse(other.isCached(key("k")));
            assertEquals(0, other.statistics().bytes());
        }
    }

    @Test
    @DisplayName("the budget of a kind applies to each device separately")
    void eachDevice() {
        caches.setLimit(EngineKind.GPU, Limit.of(1));
        assertTrue(isFilled(filled(EngineKind.GPU, 0)));
        assertTrue(
                isFilled(filled(EngineKind.GPU, 1)), "the first device is full, this one is not");
        assertEquals(2 * MEGABYTE, caches.statistics().bytes());
        assertEquals(Limit.UNLIMITED, caches.limit(EngineKind.CPU).megabytes());
    }

    @Test
    @DisplayName("the first limit flushes, however high")
    void firstSetting() {
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        ConstantTensorCache other = filled(EngineKind.CPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(1L << 40));
        assertEquals(0, cache.statistics().bytes());
        assertTrue(isFilled(other), "another kind");
    }

    @Test
    @DisplayName("a higher or equal limit does not flush, a lower one does: completely, even if all"
            + " would fit")
    void raisingAndLowering() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(6));
        assertTrue(isFilled(cache));
        caches.setLimit(EngineKind.GPU, Limit.of(6));
        assertTrue(isFilled(cache));
        caches.setLimit(EngineKind.GPU, Limit.of(Limit.UNLIMITED));
        assertTrue(isFilled(cache));
        caches.setLimit(EngineKind.GPU, Limit.of(1L << 40));
        assertFalse(isFilled(cache), "any limit is lower than unlimited");
        filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(4));
        assertEquals(0, cache.statistics().bytes());
        assertEquals(4, caches.limit(EngineKind.GPU).megabytes());
        assertEquals(4, cache.limit().megabytes());
    }

    @Test
    @DisplayName("setting unlimited again does not flush; the first limit afterwards does")
    void unlimitedFirst() {
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(Limit.UNLIMITED));
        assertTrue(isFilled(cache));
        caches.setLimit(EngineKind.GPU, Limit.of(7));
        assertFalse(isFilled(cache));
    }

    @Test
    @DisplayName("0 clears and disables; a higher limit enables again")
    void zero() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(0));
        assertEquals(0, memory.live());
        filled(EngineKind.GPU, 0);
        assertEquals(0, cache.statistics().bytes());
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        assertTrue(isFilled(filled(EngineKind.GPU, 0)));
    }

    @Test
    @DisplayName("a configured limit counts as the first, and code overrides it: a higher limit in"
            + " code does not flush, a lower one does")
    void configured() {
        caches = new ConstantTensorCaches(configured(EngineKind.GPU, 5, ConstantPolicy.COST));
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        assertEquals(new Limit(5, ConstantPolicy.COST), cache.limit());
        caches.setLimit(EngineKind.GPU, new Limit(6, ConstantPolicy.COST));
        assertTrue(isFilled(cache));
        assertEquals(new Limit(6, ConstantPolicy.COST), cache.limit());
        caches.setLimit(EngineKind.GPU, new Limit(2, ConstantPolicy.LRU));
        assertEquals(0, cache.statistics().bytes());
        assertEquals(new Limit(2, ConstantPolicy.LRU), caches.limit(EngineKind.GPU));
    }

    @Test
    @DisplayName("another policy with the same limit does not flush and applies to later tensors")
    void policyAlone() {
        caches.setLimit(EngineKind.GPU, Limit.of(1));
        ConstantTensorCache cache = filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, new Limit(1, ConstantPolicy.LRU));
        assertTrue(isFilled(cache));
        memory.use(cache, "next", 1);
        assertFalse(isFilled(cache));
        assertTrue(cache.isCached(key("next")));
    }

    @Test
    @DisplayName("a device may have its own capacity, set before or after its first use; the others"
            + " keep the kind's")
    void ofDevice() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        caches.setLimit(new Gpu(1), Limit.of(0));
        ConstantTensorCache first = filled(EngineKind.GPU, 0);
        ConstantTensorCache second = filled(EngineKind.GPU, 1);
        assertTrue(isFilled(first));
        assertEquals(0, second.statistics().bytes());
        caches.setLimit(new Gpu(0), new Limit(6, ConstantPolicy.LRU));
        assertTrue(isFilled(first), "raised");
        assertEquals(6, caches.limit(new Gpu(0)).megabytes());
        assertEquals(ConstantPolicy.LRU, first.limit().policy());
        assertEquals(0, caches.limit(new Gpu(1)).megabytes());
        assertEquals(5, caches.limit(new Gpu(2)).megabytes());
        assertEquals(5, caches.limit(EngineKind.GPU).megabytes());
        caches.setLimit(new Gpu(0), Limit.of(3));
        assertEquals(0, first.statistics().bytes(), "lowered");
    }

    /** A device as an engine describes it. */
    record Gpu(int index) implements ConstantDevice {
        @Override
        public EngineKind kind() {
            return EngineKind.GPU;
        }
    }

    @Test
    @DisplayName("a capacity is set and read by the device object as by kind and index, and"
            + " eviction keeps to both")
    void byDeviceObject() {
        Gpu first = new Gpu(0);
        Gpu second = new Gpu(1);
        caches.setLimit(EngineKind.GPU, new Limit(3, ConstantPolicy.LRU));
        caches.setLimit(second, new Limit(1, ConstantPolicy.LRU));
        assertEquals(3, caches.limit(first).megabytes());
        assertEquals(1, caches.limit(second).megabytes());
        assertEquals(1, caches.limit(new Gpu(1)).megabytes());
        assertEquals(3, caches.limit(EngineKind.GPU).megabytes(), "the kind's is not the device's");
        assertEquals(new Limit(1, ConstantPolicy.LRU), caches.limit(second));
        assertSame(caches.of(EngineKind.GPU, 1), caches.of(second));
        for (Gpu device : List.of(first, second)) {
            for (String key : List.of("a", "b", "c", "d")) {
                memory.use(caches.of(device), key, 1);
            }
        }
        assertEquals(3 * MEGABYTE, caches.of(first).statistics().bytes());
        assertFalse(caches.of(first).isCached(key("a")), "the least recently used");
        assertTrue(caches.of(first).isCached(key("b")));
        assertEquals(MEGABYTE, caches.of(second).statistics().bytes());
        assertFalse(caches.of(second).isCached(key("c")));
        assertTrue(caches.of(second).isCached(key("d")));

        caches.setLimit(first, Limit.of(3));
        memory.use(caches.of(first), "e", 1);
        assertFalse(caches.of(first).isCached(key("e")), "its own policy");
        assertTrue(caches.of(first).isCached(key("b")));
        assertEquals(ConstantPolicy.LRU, caches.limit(EngineKind.GPU).policy());
        caches.setLimit(second, Limit.of(0));
        assertEquals(0, caches.of(second).statistics().bytes());
        assertEquals(3 * MEGABYTE, caches.of(first).statistics().bytes());
        caches.setLimit(EngineKind.GPU, Limit.of(2));
        assertEquals(2, caches.limit(second).megabytes(), "the kind's, which was set last");
        assertThrows(IllegalArgumentException.class, () -> caches.setLimit(first, Limit.of(-1)));
        assertThrows(
                IllegalArgumentException.class, () -> caches.setLimit(new Gpu(-1), Limit.of(1)));
        assertThrows(
                IllegalArgumentException.class, () -> caches.limit(new Gpu(-1)).megabytes());
    }

    @Test
    @DisplayName("the first limit of a device flushes that device, and no other")
    void firstSettingOfDevice() {
        ConstantTensorCache first = filled(EngineKind.GPU, 0);
        ConstantTensorCache second = filled(EngineKind.GPU, 1);
        caches.setLimit(new Gpu(0), Limit.of(1L << 40));
        assertEquals(0, first.statistics().bytes(), "flushed, however high the limit");
        assertTrue(isFilled(second));
        caches.setLimit(EngineKind.GPU, Limit.of(1L << 41));
        assertEquals(0, second.statistics().bytes(), "its first limit");
    }

    @Test
    @DisplayName("the cache that back-ends use has no method that changes a limit")
    void noSetter() {
        assertEquals(
                Set.of("get", "getOrAdd", "limit", "removeContext", "removeIfExist", "statistics"),
                Arrays.stream(ConstantTensorCache.class.getDeclaredMethods())
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .map(Method::getName)
                        .collect(Collectors.toSet()));
    }

    @Test
    @DisplayName("of a limit for the kind and one for the device, the one set last applies")
    void lastOne() {
        caches.setLimit(new Gpu(0), Limit.of(7));
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        assertEquals(5, caches.limit(new Gpu(0)).megabytes());
        assertEquals(5, caches.of(EngineKind.GPU, 0).limit().megabytes());
        caches.setLimit(new Gpu(0), Limit.of(8));
        assertEquals(8, caches.of(EngineKind.GPU, 0).limit().megabytes());
        ConstantTensorCache used = filled(EngineKind.GPU, 0);
        caches.setLimit(EngineKind.GPU, Limit.of(6));
        assertEquals(0, used.statistics().bytes(), "lower than its own 8");
    }

    @Test
    @DisplayName("a capacity set before the first use counts as the first limit: raising it later"
            + " does not flush")
    void setBeforeUse() {
        caches.setLimit(new Gpu(0), Limit.of(5));
        caches.setLimit(EngineKind.CPU, Limit.of(5));
        ConstantTensorCache gpu = filled(EngineKind.GPU, 0);
        ConstantTensorCache cpu = filled(EngineKind.CPU, 0);
        caches.setLimit(new Gpu(0), Limit.of(6));
        caches.setLimit(EngineKind.CPU, Limit.of(6));
        assertTrue(isFilled(gpu));
        assertTrue(isFilled(cpu));
    }

    @Test
    @DisplayName("a flush affects promised tensors: waiting threads get them, but they are not"
            + " cached")
    void flushWhileMaking() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
        try (ConstantHold<Piece> made = cache.get(key("k"), MEGABYTE, () -> {
            caches.setLimit(EngineKind.GPU, Limit.of(4));
            assertEquals(0, cache.statistics().promisedBytes());
            return memory.allocate("k", MEGABYTE);
        })) {
            assertFalse(made.isCached());
            assertFalse(made.buffer().isFreed());
        }
        assertEquals(0, memory.live());
        assertTrue(isFilled(filled(EngineKind.GPU, 0)), "the next one is cached");
    }

    @Test
    @DisplayName("a callback may change the limits: it runs outside of all locks")
    void settingInCallback() {
        caches.setLimit(EngineKind.GPU, Limit.of(5));
        ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
        ConstantHold<Piece> held = memory.take(cache, "k", 1);
        held.onEviction(() -> {
            caches.setLimit(EngineKind.CPU, Limit.of(3));
            held.close();
        });
        caches.setLimit(EngineKind.GPU, Limit.of(1));
        assertEquals(3, caches.limit(EngineKind.CPU).megabytes());
        assertEquals(0, memory.live());
    }

    @Test
    @DisplayName("A negative index of a device and a negative capacity are rejected")
    void negative() {
        assertThrows(IllegalArgumentException.class, () -> caches.of(EngineKind.GPU, -1));
        assertThrows(
                IllegalArgumentException.class, () -> caches.setLimit(new Gpu(-1), Limit.of(5)));
        assertThrows(
                IllegalArgumentException.class,
                () -> caches.setLimit(EngineKind.GPU, Limit.of(-5)));
        assertEquals(
                Limit.UNLIMITED, caches.limit(EngineKind.GPU).megabytes(), "nothing has changed");
    }
}
