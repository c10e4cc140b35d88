package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.composite.CompositeCache.CompositeStatistics;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** Tests of primitives that need each other or themselves, without a driver. */
class CreationCycleTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private final CompositeCache composites = new InMemoryKernelProvider().composites(1024);

    @AfterEach
    void noWaiterRemains() {
        assertEquals(0, composites.waitingCreations());
    }

    private static void assertCycle(@Nullable Throwable thrown) {
        String message = String.valueOf(
                assertInstanceOf(IllegalStateException.class, thrown).getMessage());
        assertTrue(
                message.contains("needs itself") || message.contains("needs the key itself"),
                message);
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName(
            "a primitive that needs itself, directly or through others, is an error; nothing is"
                    + " kept, and all work afterwards")
    void needsItself(TestImplementation.PartOrder order) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            TestImplementation implementation = new TestImplementation(composites, order);
            for (var cycle : List.of(
                    Map.of("a", List.of("a")),
                    Map.of("a", List.of("b"), "b", List.of("a")),
                    Map.of("a", List.of("x", "b"), "b", List.of("c"), "c", List.of("y", "a")))) {
                implementation.parts = cycle;
                assertCycle(assertThrows(
                        IllegalStateException.class, () -> implementation.create("a")));
                composites.setCapacity(0);
                composites.setCapacity(1024);
                implementation.parts = Map.of("a", List.of("b"));
                assertEquals(1, implementation.create("a").nested().size());
                composites.setCapacity(0);
                composites.setCapacity(1024);
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("a cycle of two concurrent creations is an error for both callers, not a deadlock")
    void cycleOfThreads(TestImplementation.PartOrder order) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            TestImplementation implementation = new TestImplementation(composites, order);
            implementation.parts = Map.of("a", List.of("b"), "b", List.of("a"));
            CountDownLatch both = new CountDownLatch(2);
            implementation.action = _ -> {
                both.countDown();
                TestImplementation.await(both);
            };
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Future<?> end : threads.invokeAll(List.<Callable<Object>>of(
                        () -> implementation.create("a"), () -> implementation.create("b")))) {
                    assertCycle(assertThrows(ExecutionException.class, end::get).getCause());
                }
            }
            assertEquals(0, composites.statistics().size());
            implementation.parts = Map.of("a", List.of("b"));
            implementation.action = _ -> {};
            implementation.create("a");
            assertEquals(2, composites.statistics().size());
        });
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName(
            "12 threads create a lattice of nested primitives from both ends: no deadlock, each"
                    + " created once")
    void lattice(TestImplementation.PartOrder order) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            TestImplementation implementation = new TestImplementation(composites, order);
            Map<String, List<String>> lattice = new HashMap<>();
            for (int level = 1; level < 8; level++) {
                for (int i = 0; i < 4; i++) {
                    int below = level - 1;
                    int first = i;
                    List<String> parts = new ArrayList<>(IntStream.range(0, 4)
                            .mapToObj(j -> below + "." + (first + j) % 4)
                            .toList());
                    if (i % 2 == 1) {
                        Collections.reverse(parts);
                    }
                    lattice.put(level + "." + i, parts);
                }
            }
            implementation.parts = lattice;
            CyclicBarrier start = new CyclicBarrier(12);
            List<Callable<CompositePrimitive>> work = new ArrayList<>();
            for (int t = 0; t < 12; t++) {
                String top = (t < 8 ? 7 : t - 8) + "." + t % 4;
                work.add(() -> {
                    start.await();
                    return implementation.create(top);
                });
            }
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Future<CompositePrimitive> done : threads.invokeAll(work)) {
                    done.get();
                }
            }
            assertEquals(32, implementation.creations.get());
            CompositeStatistics counted = composites.statistics();
            assertEquals(
                    List.of(32L, 12L, 0L),
                    List.of(
                            counted.created() + counted.nestedCreated(),
                            counted.hits() + counted.created(),
                            counted.failed()));
            assertEquals(28 * 4, counted.nestedHits() + counted.nestedCreated());
        });
    }
}
