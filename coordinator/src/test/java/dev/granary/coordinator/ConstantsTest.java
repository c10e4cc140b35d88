package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantPolicy;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** The constant tensors of a {@link Granary}: the sources of their limits, and their end. */
class ConstantsTest {
    private static final long MEGABYTE = 1L << 20;
    private static final String VARIABLE = "GRANARY_CONSTANT_TENSOR_CACHE_CAPACITY";

    @TempDir
    private Path directory = Path.of("");

    private final Map<String, String> environment = new HashMap<>();

    private GranaryConfigBuilder builder() {
        return GranaryConfig.builder()
                .environment(environment)
                .directory(directory)
                .offline();
    }

    private static ConstantHold<AutoCloseable> take(
            ConstantTensorCaches caches, String key, AtomicInteger freed) {
        return caches.of(EngineKind.CPU, 0)
                .get(
                        new ConstantTensorCache.Key<>(AutoCloseable.class, "test", "context", key),
                        MEGABYTE,
                        () -> freed::incrementAndGet);
    }

    @Test
    @DisplayName("the environment is read once, later changes have no effect; code takes"
            + " precedence, also at run time")
    void environment() throws Exception {
        environment.put(VARIABLE, "cpu:10240;gpu:2048:COST");
        GranaryConfig config = builder().build();
        environment.put(VARIABLE, "cpu:1;gpu:1");
        try (Granary granary = Granary.open(config)) {
            environment.put(VARIABLE, "cpu:0;gpu:0");
            ConstantTensorCaches caches = granary.constants();
            assertEquals(10240, caches.limit(EngineKind.CPU).megabytes());
            assertEquals(
                    new Limit(2048, ConstantPolicy.COST),
                    caches.of(EngineKind.GPU, 3).limit());
            AtomicInteger freed = new AtomicInteger();
            take(caches, "k", freed).close();
            caches.setLimit(EngineKind.CPU, Limit.of(20_480));
            assertEquals(20_480, caches.of(EngineKind.CPU, 0).limit().megabytes());
            assertEquals(0, freed.get(), "the new capacity is higher than that of the environment");
            caches.setLimit(EngineKind.CPU, Limit.of(5));
            assertEquals(1, freed.get());
        }
        environment.put(VARIABLE, "cpu:10240;gpu:2048:COST");
        try (Granary granary = Granary.open(builder()
                .constantTensorCacheCapacity(EngineKind.CPU, Limit.of(7))
                .build())) {
            assertEquals(7, granary.constants().limit(EngineKind.CPU).megabytes(), "code");
            assertEquals(
                    2048,
                    granary.constants().limit(EngineKind.GPU).megabytes(),
                    "the environment, since code sets no value");
        }
    }

    @Test
    @DisplayName("unlimited by default, on every kind of engine")
    void unlimited() throws Exception {
        try (Granary granary = Granary.open(builder().build())) {
            for (EngineKind kind : EngineKind.values()) {
                assertEquals(Limit.DEFAULT, granary.constants().limit(kind));
                assertEquals(
                        Limit.UNLIMITED, granary.constants().of(kind, 0).limit().megabytes());
            }
        }
    }

    @Test
    @DisplayName("close frees the constants, except those in use, which stay valid until they are"
            + " released")
    void closing() throws Exception {
        AtomicInteger freed = new AtomicInteger();
        ConstantTensorCaches caches;
        ConstantHold<AutoCloseable> held;
        try (Granary granary = Granary.open(builder().build())) {
            caches = granary.constants();
            held = take(caches, "held", freed);
            take(caches, "free", freed).close();
            assertTrue(held.isCached());
        }
        assertEquals(1, freed.get());
        assertFalse(held.isCached());
        held.close();
        assertEquals(2, freed.get());
        assertThrows(
                IllegalStateException.class, () -> caches.setLimit(EngineKind.CPU, Limit.of(1)));
    }
}
