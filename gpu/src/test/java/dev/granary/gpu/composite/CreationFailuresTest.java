package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.engine.Closer;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

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

/** Tests of failed creations and their waiters, without a driver. */
class CreationFailuresTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private final CompositeCache composites = new InMemoryKernelProvider().composites(1024);

    @AfterEach
    void noWaiterRemains() {
        assertEquals(0, composites.waitingCreations());
    }

    static List<Throwable> failures() {
        return List.of(
                new CompileException("checked", "line 1"),
                new IllegalArgumentException("unchecked"),
                new AssertionError("error"));
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
    @DisplayName("a failed nested creation fails for all waiters, also of its outer primitives;"
            + " nothing is kept, and the next call creates")
    void nestedFailure(Throwable failure) {
        for (TestImplementation.PartOrder order : TestImplementation.PartOrder.values()) {
            assertTimeoutPreemptively(TIMEOUT, () -> {
                TestImplementation implementation = new TestImplementation(composites, order);
                implementation.parts = Map.of(
                        "left",
                        List.of("leaf"),
                        "right",
                        List.of("leaf"),
                        "top",
                        List.of("left", "good"));
                AtomicInteger leaves = new AtomicInteger();
                AtomicInteger callers = new AtomicInteger();
                implementation.action = name -> {
                    if (name.equals("leaf")) {
                        leaves.incrementAndGet();
                        Await.holds(() -> callers.get() >= 12);
                        fail(failure);
                    }
                };
                long failedBefore = composites.statistics().failed();
                List<Callable<CompositePrimitive>> work = new ArrayList<>();
                for (String name : List.of("leaf", "left", "right", "top")) {
                    work.addAll(Collections.nCopies(3, () -> {
                        callers.incrementAndGet();
                        return implementation.create(name);
                    }));
                }
                try (ExecutorService threads = Executors.newFixedThreadPool(12)) {
                    for (Future<CompositePrimitive> end : threads.invokeAll(work)) {
                        assertSame(
                                failure,
                                assertThrows(ExecutionException.class, end::get).getCause());
                    }
                }
                assertTrue(
                        leaves.get() >= 1
                                && leaves.get() <= composites.statistics().failed() - failedBefore,
                        "each failed creation is counted");
                implementation.action = _ -> {};
                assertEquals(2, implementation.create("top").nested().size());
                assertEquals(
                        "left",
                        ((TestImplementation.Named) implementation
                                        .create("left")
                                        .descriptor()
                                        .operation())
                                .name());
                implementation.create("right");
            });
        }
    }

    @Test
    @DisplayName("an interrupted waiter gets the primitive and keeps its interrupt status, also"
            + " while it waits for several parts")
    void interruptedWaiters() {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            TestImplementation implementation =
                    new TestImplementation(composites, TestImplementation.PartOrder.PARALLEL);
            implementation.parts = Map.of("top", List.of("leaf", "other"));
            CountDownLatch creating = new CountDownLatch(1);
            CountDownLatch mayProceed = new CountDownLatch(1);
            implementation.action = name -> {
                if (name.equals("leaf")) {
                    creating.countDown();
                    TestImplementation.await(mayProceed);
                }
            };
            CompletableFuture<Thread> creator = new CompletableFuture<>();
            Callable<Boolean> first = () -> {
                creator.complete(Thread.currentThread());
                implementation.create("top");
                return Thread.currentThread().isInterrupted();
            };
            Callable<Boolean> second = () -> {
                creating.await();
                Thread.currentThread().interrupt();
                implementation.create("top");
                return Thread.currentThread().isInterrupted();
            };
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<Boolean> one = threads.submit(first);
                Future<Boolean> other = threads.submit(second);
                creating.await();
                creator.get().interrupt();
                mayProceed.countDown();
                assertTrue(one.get(), "the creator was interrupted while its parts were created");
                assertTrue(other.get());
            }
            assertEquals(3, implementation.creations.get());
        });
    }

    @Test
    @DisplayName("A context used after its creation throws, and retains no engine")
    void useAfterCreation() throws Exception {
        List<CreationContext> kept = new ArrayList<>();
        CompositeImplementation<TestImplementation.Named> retaining = (_, creation) -> {
            kept.add(creation);
            return _ -> {};
        };
        CompositeDescriptor<TestImplementation.Named> descriptor = CompositeDescriptor.builder(
                        TestImplementation.TARGET, new TestImplementation.Named("kept"), retaining)
                .build();
        composites.primitive(TestImplementation.ENGINES, descriptor);
        CreationContext creation = kept.getFirst();
        assertThrows(IllegalStateException.class, () -> creation.scratchpad("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.constant("late", 1));
        assertThrows(IllegalStateException.class, () -> creation.nested(descriptor));
    }

    @Test
    @DisplayName("Duplicate names and invalid sizes of scratchpad or constants are refused, and the"
            + " next creation works")
    void wrongRequests() throws Exception {
        List<Consumer<CreationContext>> invalidRequests = List.of(
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
        for (var request : invalidRequests) {
            CompositeImplementation<TestImplementation.Named> invalid = (_, creation) -> {
                request.accept(creation);
                return _ -> {};
            };
            CompositeDescriptor<TestImplementation.Named> descriptor = CompositeDescriptor.builder(
                            TestImplementation.TARGET,
                            new TestImplementation.Named("wrong"),
                            invalid)
                    .build();
            assertThrows(
                    IllegalArgumentException.class,
                    () -> composites.primitive(TestImplementation.ENGINES, descriptor));
        }
        assertEquals(4, composites.statistics().failed());
        assertFalse(composites.statistics().size() > 0);
    }

    @Test
    @DisplayName(
            "Engines of wrong targets, or a nested primitive for a third target, are refused with"
                    + " both names")
    void wrongEngines() {
        TestImplementation implementation =
                new TestImplementation(composites, TestImplementation.PartOrder.SEQUENTIAL);
        EngineSet others = EngineSet.of(new NoKernelEngine(NoKernelEngine.target("two")));
        String message = String.valueOf(assertThrows(
                        IllegalArgumentException.class,
                        () -> composites.primitive(others, implementation.descriptor("a")))
                .getMessage());
        assertTrue(
                message.contains(TestImplementation.TARGET.name()) && message.contains("_two_"),
                message);
        CompositeImplementation<TestImplementation.Named> foreign = (_, creation) -> {
            creation.nested(CompositeDescriptor.builder(
                            NoKernelEngine.target("three"),
                            new TestImplementation.Named("x"),
                            implementation)
                    .build());
            return _ -> {};
        };
        CompositeDescriptor<TestImplementation.Named> outer = CompositeDescriptor.builder(
                        TestImplementation.TARGET, new TestImplementation.Named("outer"), foreign)
                .build();
        assertTrue(String.valueOf(assertThrows(
                                IllegalArgumentException.class,
                                () -> composites.primitive(TestImplementation.ENGINES, outer))
                        .getMessage())
                .contains("_three_"));
    }

    private static CompositePrimitive create(TestImplementation implementation, String name) {
        try {
            return implementation.create(name);
        } catch (CompileException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("parts nested to the end of the stack: no waiter remains, no failed creation is"
            + " kept, and each can be created afterwards")
    void deeplyNested() throws InterruptedException {
        TestImplementation implementation =
                new TestImplementation(composites, TestImplementation.PartOrder.SEQUENTIAL);
        Map<String, List<String>> chain = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            chain.put("n" + i, List.of("n" + (i + 1)));
        }
        for (int round = 0; round < 5; round++) {
            implementation.parts = chain;
            int before = implementation.creations.get();
            Thread thread = new Thread(
                    null,
                    () -> assertThrows(
                            StackOverflowError.class, () -> create(implementation, "n0")),
                    "deep",
                    (256L << 10) + round * 80L);
            thread.start();
            thread.join();
            assertEquals(0, composites.statistics().size());
            int deepest = implementation.creations.get() - before;
            implementation.parts = Map.of();
            assertTimeoutPreemptively(TIMEOUT, () -> {
                for (int i = 0; i < deepest + 2; i++) {
                    create(implementation, "n" + i);
                }
            });
            composites.setCapacity(0);
            composites.setCapacity(1024);
        }
    }

    @Test
    @DisplayName("an error while closing one object does not prevent closing the others, and is"
            + " thrown")
    void errorInClosing() {
        List<String> closed = new ArrayList<>();
        StackOverflowError error = new StackOverflowError("injected");
        Closer closer = new Closer();
        closer.add(() -> closed.add("last"));
        closer.add(() -> {
            throw error;
        });
        closer.add(() -> closed.add("first"));
        assertSame(error, assertThrows(StackOverflowError.class, closer::close));
        assertEquals(List.of("first", "last"), closed);
        IllegalStateException first = new IllegalStateException("first");
        Closer.closeAfter(first, () -> {
            throw error;
        });
        assertSame(error, first.getSuppressed()[0]);
    }
}
