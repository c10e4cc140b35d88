package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Target;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeImplementation;
import dev.granary.gpu.composite.NoKernelEngine;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The capacity of the primitives in memory, as configured through {@link Granary}; without a
 * driver.
 */
class CompositeCapacityTest {
    private static final Target TARGET = NoKernelEngine.target("one");

    private final TestNode node;

    CompositeCapacityTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), new FakeBucket());
    }

    /** A primitive that does nothing. */
    private record Numbered(int number) {
        static final CompositeImplementation<Numbered> NOTHING = (_, _) -> _ -> {};
    }

    /** Obtains handles of these primitives, in order; returns how many had to be created. */
    private static long getHandles(Granary granary, IntStream numbers) throws Exception {
        long before = granary.statistics().count(Counter.COMPOSITES_CREATED);
        for (int number : numbers.toArray()) {
            granary.primitive(
                            new NoKernelEngine(TARGET),
                            CompositeDescriptor.builder(
                                            TARGET, new Numbered(number), Numbered.NOTHING)
                                    .build())
                    .open(new NoKernelEngine(TARGET))
                    .close();
        }
        return granary.statistics().count(Counter.COMPOSITES_CREATED) - before;
    }

    private static List<Integer> sizeAndCapacity(Granary granary) {
        return List.of(granary.compositeCacheSize(), granary.primitiveCacheCapacity());
    }

    private Granary open(String... environment) throws ConfigException {
        GranaryConfigBuilder config = GranaryConfig.builder().directory(node.directory);
        Map<String, String> own = Map.of("XDG_CONFIG_HOME", node.directory + "-none");
        return Granary.open(config.environment(
                        environment.length == 0
                                ? own
                                : Map.of(
                                        "XDG_CONFIG_HOME",
                                        node.directory + "-none",
                                        environment[0],
                                        environment[1]))
                .build());
    }

    @Test
    @DisplayName("the default capacity is 1024, the size 0")
    void standard() throws Exception {
        try (Granary granary = open()) {
            assertEquals(List.of(0, 1024), sizeAndCapacity(granary));
        }
    }

    @Test
    @DisplayName("with capacity 22 by the environment the last 22 of 30 stay; code takes"
            + " precedence")
    void byEnvironment() throws Exception {
        try (Granary granary = open("GRANARY_PRIMITIVE_CACHE_CAPACITY", "22")) {
            assertEquals(30, getHandles(granary, IntStream.range(0, 30)));
            assertEquals(List.of(22, 22), sizeAndCapacity(granary));
            assertEquals(0, getHandles(granary, IntStream.range(8, 30)));
            granary.setPrimitiveCacheCapacity(30);
            assertEquals(8, getHandles(granary, IntStream.range(0, 30)));
            assertEquals(List.of(30, 30), sizeAndCapacity(granary));
        }
        try (Granary granary = open("GRANARY_PRIMITIVE_CACHE_CAPACITY", "many")) {
            assertEquals(List.of(0, 1024), sizeAndCapacity(granary));
        }
    }

    @Test
    @DisplayName("an equal or higher capacity keeps 12; a lower one of 10 keeps the 10 most"
            + " recently used, at once")
    void lowered() throws Exception {
        try (Granary granary = open()) {
            getHandles(granary, IntStream.range(0, 12));
            granary.setPrimitiveCacheCapacity(12);
            granary.setPrimitiveCacheCapacity(24);
            assertEquals(24, granary.primitiveCacheCapacity());
            assertEquals(List.of(12, 24), sizeAndCapacity(granary));
            getHandles(granary, IntStream.range(0, 2)); // used again, so 2 and 3 are evicted
            granary.setPrimitiveCacheCapacity(10);
            assertEquals(List.of(10, 10), sizeAndCapacity(granary));
            assertEquals(
                    0,
                    getHandles(
                            granary,
                            IntStream.concat(IntStream.range(0, 2), IntStream.range(4, 12))));
            assertEquals(2, getHandles(granary, IntStream.range(2, 4)));
        }
    }

    @Test
    @DisplayName("capacity 0 clears and disables, a higher one enables again; a negative one is"
            + " rejected")
    void zero() throws Exception {
        try (Granary granary = open()) {
            getHandles(granary, IntStream.range(0, 5));
            granary.setPrimitiveCacheCapacity(0);
            assertEquals(List.of(0, 0), sizeAndCapacity(granary));
            assertEquals(
                    10,
                    getHandles(granary, IntStream.range(0, 5))
                            + getHandles(granary, IntStream.range(0, 5)));
            granary.setPrimitiveCacheCapacity(5);
            assertEquals(
                    5,
                    getHandles(granary, IntStream.range(0, 5))
                            + getHandles(granary, IntStream.range(0, 5)));
            String message = String.valueOf(assertThrows(
                            IllegalArgumentException.class,
                            () -> granary.setPrimitiveCacheCapacity(-1))
                    .getMessage());
            assertTrue(message.contains("-1"), message);
            assertEquals(List.of(5, 5), sizeAndCapacity(granary));
        }
    }
}
