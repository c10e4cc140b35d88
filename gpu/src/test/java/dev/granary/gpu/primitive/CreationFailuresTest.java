package dev.granary.gpu.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Creations that fail, need each other, or need themselves; without a driver. */
class CreationFailuresTest {
    private static final Duration GENEROUS = Duration.ofSeconds(60);
    private static final Target TARGET = NoKernels.target("one");

    private final CompositeCache composites = new KernelShelf().composites(1024);
    private final Engines engines = Engines.of(new NoKernels(TARGET));

    @AfterEach
    void nobodyWaits() {
        assertEquals(0, composites.waiting());
    }

    /** How a primitive obtains its parts. */
    enum Way {
        ONE_BY_ONE {
            @Override
            void obtain(Creation creation, List<CompositeDescriptor<?>> parts) throws CompileException {
                for (CompositeDescriptor<?> part : parts) {
                    creation.nested(part);
                }
            }
        },
        TOGETHER {
            @Override
            void obtain(Creation creation, List<CompositeDescriptor<?>> parts) throws CompileException {
                creation.nested(parts);
            }
        };

        abstract void obtain(Creation creation, List<CompositeDescriptor<?>> parts) throws CompileException;
    }

    /** Something to do while a primitive is created. */
    interface Doing {
        void act(String name) throws CompileException;
    }

    /** A primitive by name. */
    record Named(String name) {}

    /** The implementation of all of one test: parts by name, and what happens when one is created. */
    private final class Plan implements Implementation<Named> {
        private final Way way;
        private final AtomicInteger creations = new AtomicInteger();
        private volatile Map<String, List<String>> parts = Map.of();
        private volatile Doing doing = _ -> {};

        Plan(Way way) {
            this.way = way;
        }

        CompositeDescriptor<Named> descriptor(String name) {
            return CompositeDescriptor.builder(TARGET, new Named(name), this).build();
        }

        CompositePrimitive create(String name) throws CompileException {
            return composites.primitive(engines, descriptor(name));
        }

        @Override
        public Steps create(CompositeDescriptor<Named> descriptor, Creation creation) throws CompileException {
            creations.incrementAndGet();
            String name = descriptor.operation().name;
            doing.act(name);
            way.obtain(creation, parts.getOrDefault(name, List.of()).stream().<CompositeDescriptor<?>>map(this::descriptor).toList());
            return _ -> {};
        }
    }

    private static void isCircle(@Nullable Throwable thrown) {
        String said = String.valueOf(assertInstanceOf(IllegalStateException.class, thrown).getMessage());
        assertTrue(said.contains("needs itself") || said.contains("needs the key itself"), said);
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M6 a primitive that needs itself, directly, through one other or through many: an error, nothing kept, and all work afterwards")
    void needsItself(Way way) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            Plan plan = new Plan(way);
            for (var circle : List.of(
                    Map.of("a", List.of("a")),
                    Map.of("a", List.of("b"), "b", List.of("a")),
                    Map.of("a", List.of("x", "b"), "b", List.of("c"), "c", List.of("y", "a")))) {
                plan.parts = circle;
                isCircle(assertThrows(IllegalStateException.class, () -> plan.create("a")));
                composites.setCapacity(0);
                composites.setCapacity(1024);
                plan.parts = Map.of("a", List.of("b"));
                assertEquals(1, plan.create("a").nested().size());
                composites.setCapacity(0);
                composites.setCapacity(1024);
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M6 a circle that two callers close, each creating what the other needs, is an error for both and not a hang")
    void circleOfThreads(Way way) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            Plan plan = new Plan(way);
            plan.parts = Map.of("a", List.of("b"), "b", List.of("a"));
            CountDownLatch both = new CountDownLatch(2);
            plan.doing = _ -> {
                both.countDown();
                awaitUninterrupted(both);
            };
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Future<?> end : threads.invokeAll(List.<Callable<Object>>of(() -> plan.create("a"), () -> plan.create("b")))) {
                    isCircle(assertThrows(ExecutionException.class, end::get).getCause());
                }
            }
            assertEquals(0, composites.statistics().size());
            plan.parts = Map.of("a", List.of("b"));
            plan.doing = _ -> {};
            plan.create("a");
            assertEquals(2, composites.statistics().size());
        });
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("M6 12 threads create a lattice of nested primitives from both ends, in parallel: no deadlock, each created once")
    void lattice(Way way) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            Plan plan = new Plan(way);
            Map<String, List<String>> lattice = new HashMap<>();
            for (int level = 1; level < 8; level++) {
                for (int i = 0; i < 4; i++) {
                    int below = level - 1;
                    int first = i;
                    List<String> parts = new ArrayList<>(IntStream.range(0, 4).mapToObj(j -> below + "." + (first + j) % 4).toList());
                    if (i % 2 == 1) {
                        Collections.reverse(parts);
                    }
                    lattice.put(level + "." + i, parts);
                }
            }
            plan.parts = lattice;
            CyclicBarrier start = new CyclicBarrier(12);
            List<Callable<CompositePrimitive>> work = new ArrayList<>();
            for (int t = 0; t < 12; t++) {
                String top = (t < 8 ? 7 : t - 8) + "." + t % 4;
                work.add(() -> {
                    start.await();
                    return plan.create(top);
                });
            }
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Future<CompositePrimitive> done : threads.invokeAll(work)) {
                    done.get();
                }
            }
            assertEquals(32, plan.creations.get());
            CompositeStatistics counted = composites.statistics();
            assertEquals(List.of(32L, 12L, 0L), List.of(counted.created() + counted.nestedCreated(), counted.hits() + counted.created(), counted.failed()));
            assertEquals(28 * 4, counted.nestedHits() + counted.nestedCreated());
        });
    }

    static List<Throwable> failures() {
        return List.of(new CompileException("checked", "line 1"), new IllegalArgumentException("unchecked"), new AssertionError("error"));
    }

    private static void fail(Throwable failure) throws CompileException {
        switch (failure) {
            case CompileException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new AssertionError(failure);
        }
    }

    @ParameterizedTest
    @MethodSource("failures")
    @DisplayName("M7 a nested creation that fails reaches all who wait for it or for what it is nested in; nothing is kept, the next call creates")
    void nestedFailure(Throwable failure) {
        for (Way way : Way.values()) {
            assertTimeoutPreemptively(GENEROUS, () -> {
                Plan plan = new Plan(way);
                plan.parts = Map.of("left", List.of("leaf"), "right", List.of("leaf"), "top", List.of("left", "good"));
                AtomicInteger leaves = new AtomicInteger();
                AtomicInteger asking = new AtomicInteger();
                plan.doing = name -> {
                    if (name.equals("leaf")) {
                        leaves.incrementAndGet();
                        while (asking.get() < 12) {
                            Thread.onSpinWait();
                        }
                        fail(failure);
                    }
                };
                long failedBefore = composites.statistics().failed();
                List<Callable<CompositePrimitive>> work = new ArrayList<>();
                for (String name : List.of("leaf", "left", "right", "top")) {
                    work.addAll(Collections.nCopies(3, () -> {
                        asking.incrementAndGet();
                        return plan.create(name);
                    }));
                }
                try (ExecutorService threads = Executors.newFixedThreadPool(12)) {
                    for (Future<CompositePrimitive> end : threads.invokeAll(work)) {
                        assertSame(failure, assertThrows(ExecutionException.class, end::get).getCause());
                    }
                }
                assertTrue(leaves.get() >= 1 && leaves.get() <= composites.statistics().failed() - failedBefore, "each failed creation is counted");
                plan.doing = _ -> {};
                assertEquals(2, plan.create("top").nested().size());
                assertEquals("left", ((Named) plan.create("left").descriptor().operation()).name);
                plan.create("right");
            });
        }
    }

    @Test
    @DisplayName("M7 an interrupted waiter gets the primitive and keeps its interrupt status, one that waits for parts created together too")
    void interruptedWaiters() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            Plan plan = new Plan(Way.TOGETHER);
            plan.parts = Map.of("top", List.of("leaf", "other"));
            CountDownLatch creating = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            plan.doing = name -> {
                if (name.equals("leaf")) {
                    creating.countDown();
                    awaitUninterrupted(go);
                }
            };
            CompletableFuture<Thread> creator = new CompletableFuture<>();
            Callable<Boolean> first = () -> {
                creator.complete(Thread.currentThread());
                plan.create("top");
                return Thread.currentThread().isInterrupted();
            };
            Callable<Boolean> second = () -> {
                creating.await();
                Thread.currentThread().interrupt();
                plan.create("top");
                return Thread.currentThread().isInterrupted();
            };
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<Boolean> one = threads.submit(first);
                Future<Boolean> other = threads.submit(second);
                creating.await();
                creator.get().interrupt();
                go.countDown();
                assertTrue(one.get(), "the creator was interrupted while its parts were created");
                assertTrue(other.get());
            }
            assertEquals(3, plan.creations.get());
        });
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    @DisplayName("What keeps a creation beyond its end is told so, and it keeps no engine")
    void overIsOver() throws Exception {
        List<Creation> kept = new ArrayList<>();
        Implementation<Named> keeping = (_, creation) -> {
            kept.add(creation);
            return _ -> {};
        };
        CompositeDescriptor<Named> descriptor = CompositeDescriptor.builder(TARGET, new Named("kept"), keeping).build();
        composites.primitive(engines, descriptor);
        Creation creation = kept.getFirst();
        assertThrows(IllegalStateException.class, () -> creation.scratchpad("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.constant("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.nested(descriptor));
    }

    @Test
    @DisplayName("Two parts of a scratchpad or constants of one name, sizes that are none: refused, and the next creation works")
    void wrongRequests() throws Exception {
        List<Consumer<Creation>> wrong = List.of(
                creation -> creation.scratchpad("a", 0),
                creation -> {
                    creation.scratchpad("a", 1);
                    creation.scratchpad("a", 1);
                },
                creation -> creation.constant("c"),
                creation -> {
                    creation.constant("c", 1);
                    creation.constant("c", 1);
                });
        for (var request : wrong) {
            Implementation<Named> asking = (_, creation) -> {
                request.accept(creation);
                return _ -> {};
            };
            CompositeDescriptor<Named> descriptor = CompositeDescriptor.builder(TARGET, new Named("wrong"), asking).build();
            assertThrows(IllegalArgumentException.class, () -> composites.primitive(engines, descriptor));
        }
        assertEquals(4, composites.statistics().failed());
        assertFalse(composites.statistics().size() > 0);
    }

    @Test
    @DisplayName("Engines of other targets than the descriptor's, or a nested primitive for a third: refused with both names")
    void wrongEngines() {
        Plan plan = new Plan(Way.ONE_BY_ONE);
        Engines others = Engines.of(new NoKernels(NoKernels.target("two")));
        String said = String.valueOf(assertThrows(IllegalArgumentException.class, () -> composites.primitive(others, plan.descriptor("a"))).getMessage());
        assertTrue(said.contains(TARGET.name()) && said.contains("_two_"), said);
        Implementation<Named> elsewhere = (_, creation) -> {
            creation.nested(CompositeDescriptor.builder(NoKernels.target("three"), new Named("x"), plan).build());
            return _ -> {};
        };
        CompositeDescriptor<Named> outer = CompositeDescriptor.builder(TARGET, new Named("outer"), elsewhere).build();
        assertTrue(String.valueOf(assertThrows(IllegalArgumentException.class, () -> composites.primitive(engines, outer)).getMessage())
                .contains("_three_"));
    }
}
