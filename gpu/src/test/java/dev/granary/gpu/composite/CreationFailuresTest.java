package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.build.StackEdge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Creations that fail, and what waits for them; without a driver. */
class CreationFailuresTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    private final CompositeCache composites = new InMemoryKernelProvider().composites(1024);

    @AfterEach
    void nobodyWaits() {
        assertEquals(0, composites.waitingCreations());
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
        for (TestImplementation.Way way : TestImplementation.Way.values()) {
            assertTimeoutPreemptively(GENEROUS, () -> {
                TestImplementation plan = new TestImplementation(composites, way);
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
                assertEquals("left", ((TestImplementation.Named) plan.create("left").descriptor().operation()).name());
                plan.create("right");
            });
        }
    }

    @Test
    @DisplayName("M7 an interrupted waiter gets the primitive and keeps its interrupt status, one that waits for parts created together too")
    void interruptedWaiters() {
        assertTimeoutPreemptively(GENEROUS, () -> {
            TestImplementation plan = new TestImplementation(composites, TestImplementation.Way.TOGETHER);
            plan.parts = Map.of("top", List.of("leaf", "other"));
            CountDownLatch creating = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            plan.doing = name -> {
                if (name.equals("leaf")) {
                    creating.countDown();
                    TestImplementation.await(go);
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

    @Test
    @DisplayName("What keeps a creation beyond its end is told so, and it keeps no engine")
    void overIsOver() throws Exception {
        List<CreationContext> kept = new ArrayList<>();
        CompositeImplementation<TestImplementation.Named> keeping = (_, creation) -> {
            kept.add(creation);
            return _ -> {};
        };
        CompositeDescriptor<TestImplementation.Named> descriptor = CompositeDescriptor.builder(TestImplementation.TARGET, new TestImplementation.Named("kept"), keeping).build();
        composites.primitive(TestImplementation.ENGINES, descriptor);
        CreationContext creation = kept.getFirst();
        assertThrows(IllegalStateException.class, () -> creation.scratchpad("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.constant("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.nested(descriptor));
    }

    @Test
    @DisplayName("Two parts of a scratchpad or constants of one name, sizes that are none: refused, and the next creation works")
    void wrongRequests() throws Exception {
        List<Consumer<CreationContext>> wrong = List.of(
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
            CompositeImplementation<TestImplementation.Named> asking = (_, creation) -> {
                request.accept(creation);
                return _ -> {};
            };
            CompositeDescriptor<TestImplementation.Named> descriptor = CompositeDescriptor.builder(TestImplementation.TARGET, new TestImplementation.Named("wrong"), asking).build();
            assertThrows(IllegalArgumentException.class, () -> composites.primitive(TestImplementation.ENGINES, descriptor));
        }
        assertEquals(4, composites.statistics().failed());
        assertFalse(composites.statistics().size() > 0);
    }

    @Test
    @DisplayName("Engines of other targets than the descriptor's, or a nested primitive for a third: refused with both names")
    void wrongEngines() {
        TestImplementation plan = new TestImplementation(composites, TestImplementation.Way.ONE_BY_ONE);
        EngineSet others = EngineSet.of(new NoKernelEngine(NoKernelEngine.target("two")));
        String said = String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> composites.primitive(others, plan.descriptor("a"))).getMessage());
        assertTrue(said.contains(TestImplementation.TARGET.name()) && said.contains("_two_"), said);
        CompositeImplementation<TestImplementation.Named> elsewhere = (_, creation) -> {
            creation.nested(CompositeDescriptor.builder(NoKernelEngine.target("three"), new TestImplementation.Named("x"), plan).build());
            return _ -> {};
        };
        CompositeDescriptor<TestImplementation.Named> outer = CompositeDescriptor.builder(TestImplementation.TARGET, new TestImplementation.Named("outer"), elsewhere).build();
        assertTrue(String.valueOf(assertThrows(IllegalArgumentException.class, () -> composites.primitive(TestImplementation.ENGINES, outer)).getMessage())
                .contains("_three_"));
    }

    private static CompositePrimitive create(TestImplementation plan, String name) {
        try {
            return plan.create(name);
        } catch (CompileException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("M1 parts that nest to the end of the stack: nobody waits, nothing is kept of what failed, and each can be created afterwards")
    void deeplyNested() throws InterruptedException {
        TestImplementation plan = new TestImplementation(composites, TestImplementation.Way.ONE_BY_ONE);
        Map<String, List<String>> chain = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            chain.put("n" + i, List.of("n" + (i + 1)));
        }
        for (int round = 0; round < 5; round++) {
            plan.parts = chain;
            int before = plan.creations.get();
            Thread thread = new Thread(null, () -> assertThrows(StackOverflowError.class, () -> create(plan, "n0")), "deep", (256L << 10) + round * 80L);
            thread.start();
            thread.join();
            assertEquals(0, composites.waitingCreations());
            assertEquals(0, composites.statistics().size());
            int deepest = plan.creations.get() - before;
            plan.parts = Map.of();
            assertTimeoutPreemptively(GENEROUS, () -> {
                for (int i = 0; i < deepest + 2; i++) {
                    create(plan, "n" + i);
                }
            });
            composites.setCapacity(0);
            composites.setCapacity(1024);
        }
    }

    @Test
    @DisplayName("M1 a creation at each depth from the end of the stack: nobody waits, and each can be created afterwards")
    void anyDepth() throws InterruptedException {
        TestImplementation plan = new TestImplementation(composites, TestImplementation.Way.ONE_BY_ONE);
        Map<String, List<String>> parts = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            parts.put("n" + i, List.of("part " + i));
        }
        plan.parts = parts;
        for (int round = 0; round < 3; round++) {
            StackEdge.run(200, round, level -> create(plan, "n" + level));
            assertEquals(0, composites.waitingCreations());
            assertTimeoutPreemptively(GENEROUS, () -> {
                for (int i = 0; i < 200; i++) {
                    create(plan, "n" + i);
                }
            });
            assertEquals(400, composites.statistics().size());
            composites.setCapacity(0);
            composites.setCapacity(1024);
        }
    }

    @Test
    @DisplayName("M1 an error while one thing is closed does not keep the others open, and is the one that is thrown")
    void errorInClosing() {
        List<String> closed = new ArrayList<>();
        StackOverflowError error = new StackOverflowError("on purpose");
        List<Closer.Closeable> things = List.of(() -> closed.add("first"), () -> {
            throw error;
        }, () -> closed.add("last"));
        assertSame(error, assertThrows(StackOverflowError.class, () -> Closer.closeAll(things)));
        assertEquals(List.of("first", "last"), closed);
        IllegalStateException first = new IllegalStateException("first");
        Closer.closeAfter(first, () -> {
            throw error;
        });
        assertSame(error, first.getSuppressed()[0]);
    }
}
