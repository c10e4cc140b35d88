package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeCache.CompositeStatistics;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.SpyDriver;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** Tests of real operations on a real driver: number of creations, and use in several contexts. */
@NeedsPocl
class CompositePrimitiveTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private final SpyDriver driver = new SpyDriver();
    private final InMemoryKernelProvider provider = new InMemoryKernelProvider();
    private final CompositeCache composites = provider.composites(1024);
    private WeakReference<OpenClEngine> opened = new WeakReference<>(null);

    @AfterEach
    void noObjectsRemain() {
        assertEquals(Map.of(), driver.alive());
        assertEquals(0, composites.waitingCreations());
    }

    private void matMulOnNewEngine() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                        .open(engine)) {
            opened = new WeakReference<>(engine);
            MatMul.check(engine, handle);
        }
    }

    @Test
    @DisplayName(
            "A matrix product with a nested reorder and a nested activation with constant scales"
                    + " equals a plain loop")
    void matMul() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            for (MatMul.Variant variant : MatMul.Variant.values()) {
                try (CompositeHandle handle = composites
                        .primitive(
                                EngineSet.of(engine),
                                MatMul.descriptor(engine.target(), 8, 12, 4, variant))
                        .open(engine)) {
                    for (int i = 0; i < 3; i++) {
                        MatMul.check(engine, handle);
                    }
                }
            }
        }
        CompositeStatistics counted = composites.statistics();
        assertEquals(2, counted.created(), "the implementation is part of the key");
        assertEquals(2, counted.nestedCreated(), "reorder and activation");
        assertEquals(1, counted.nestedHits(), "both products have the same activation");
        assertEquals(4, driver.compiles());
    }

    @Test
    @DisplayName("The two nested reductions of a softmax share one program, which is compiled and"
            + " cached once")
    void softmax() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), Softmax.descriptor(engine.target(), 8, 16))
                        .open(engine)) {
            Softmax.check(engine, handle);
            assertEquals(2, handle.primitive().nested().size());
            List<KernelProgram> programs = handle.primitive().nested().stream()
                    .flatMap(nested -> nested.programs().stream())
                    .toList();
            assertSame(programs.get(0), programs.get(1));
        }
        assertEquals(2, driver.compiles());
        assertEquals(2, provider.programs.size());
        assertEquals(3, composites.statistics().size());
    }

    @Test
    @DisplayName(
            "With a new engine for each call, the cached primitive runs and nothing is compiled"
                    + " again")
    void engineForEachCall() throws Exception {
        for (int i = 0; i < 20; i++) {
            matMulOnNewEngine();
        }
        assertEquals(3, driver.compiles());
        assertEquals(3 * 19, driver.restores(), "each later call restores its three programs");
        assertEquals(1, composites.statistics().created());
        assertEquals(19, composites.statistics().hits());
    }

    @Test
    @DisplayName(
            "A primitive whose first engine was closed before any launch runs on the next engine"
                    + " without compiling")
    void closedBeforeTheLaunch() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            composites.primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4));
        }
        assertEquals(Map.of(), driver.alive(), "the cached primitive has no context state");
        matMulOnNewEngine();
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("Two contexts share one primitive and one compile, and both compute correctly")
    void twoContexts() throws Exception {
        try (OpenClEngine first = driver.open();
                OpenClEngine second = driver.open()) {
            CompositeDescriptor<MatMul> product = MatMul.packed(first.target(), 8, 12, 4);
            try (CompositeHandle here =
                            composites.primitive(EngineSet.of(first), product).open(first);
                    CompositeHandle there =
                            composites.primitive(EngineSet.of(second), product).open(second)) {
                assertSame(here.primitive(), there.primitive());
                for (int i = 0; i < 3; i++) {
                    MatMul.check(first, here);
                    MatMul.check(second, there);
                }
            }
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("A cached primitive retains no engine")
    void engineIsCollected() throws Exception {
        for (int i = 0; i < 2; i++) { // the first compiles, the second restores
            matMulOnNewEngine();
            Await.collected(() -> opened.refersTo(null));
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("8 threads create 4 primitives with the same nested activation: 4 + 1 creations,"
            + " each program compiled once")
    void fourByEight() throws Exception {
        try (OpenClEngine engine = driver.open();
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            CyclicBarrier start = new CyclicBarrier(8);
            Callable<Integer> work = () -> {
                start.await();
                for (int i = 0; i < 4; i++) {
                    int inner = 4 * (1 + i);
                    try (CompositeHandle handle = composites
                            .primitive(
                                    EngineSet.of(engine),
                                    MatMul.packed(engine.target(), 4, inner, 4))
                            .open(engine)) {
                        MatMul.check(engine, handle);
                    }
                }
                return 0;
            };
            for (Future<Integer> done :
                    threads.invokeAll(IntStream.range(0, 8).mapToObj(_ -> work).toList())) {
                done.get();
            }
        }
        CompositeStatistics counted = composites.statistics();
        assertEquals(
                List.of(4L, 28L, 5L, 3L, 0L),
                List.of(
                        counted.created(),
                        counted.hits(),
                        counted.nestedCreated(),
                        counted.nestedHits(),
                        counted.failed()));
        assertEquals(9, counted.size());
        assertEquals(
                4 + 4 + 1, driver.compiles(), "products, reorders by their launch, one activation");
    }

    /** An operation that writes the numbers of its programs in order. */
    record Numbers(List<String> sources) {
        static final CompositeImplementation<Numbers> TOGETHER = (descriptor, creation) -> {
            List<KernelProgram> programs = creation.kernels(descriptor.operation().sources.stream()
                    .map(source -> KernelDescriptor.builder(descriptor.target(), "number")
                            .source("kernel void number(global int* to) { " + source + " }")
                            .build())
                    .toList());
            return run -> programs.forEach(program ->
                    run.launch(program, "number", Geometry.of(1).local(1), run.argument("to")));
        };
    }

    @Test
    @DisplayName(
            "Several programs obtained at once are compiled once each, in order; if one does not"
                    + " compile, the creation fails")
    void kernelsTogether() throws Exception {
        try (OpenClEngine engine = driver.open();
                OpenClBuffer to = engine.bufferOf(new int[1])) {
            List<String> sources = List.of("*to = 5;", "*to = *to * 7;", "*to = *to + 1;");
            try (CompositeHandle handle = composites
                    .primitive(
                            EngineSet.of(engine),
                            CompositeDescriptor.builder(
                                            engine.target(), new Numbers(sources), Numbers.TOGETHER)
                                    .build())
                    .open(engine)) {
                handle.execute(Map.of("to", to));
            }
            int[] result = new int[1];
            to.read(result);
            assertEquals(36, result[0]);
            CompositeDescriptor<Numbers> invalid = CompositeDescriptor.builder(
                            engine.target(),
                            new Numbers(List.of("*to = 5;", "no_such_thing();", "*to = 9;")),
                            Numbers.TOGETHER)
                    .build();
            String message = String.valueOf(assertThrows(CompileException.class, () -> composites
                            .primitive(EngineSet.of(engine), invalid)
                            .open(engine))
                    .getMessage());
            assertTrue(message.contains("no_such_thing"), message);
        }
        assertEquals(5, driver.compiles());
        assertEquals(4, provider.programs.size(), "compiled programs stay cached");
        assertEquals(1, composites.statistics().size());
    }

    @Test
    @DisplayName("a reorder between two engines runs on either, with source and destination in"
            + " different contexts")
    void betweenEngines() throws Exception {
        try (OpenClEngine source = driver.open();
                OpenClEngine destination = driver.open()) {
            CompositeDescriptor<Reorder> reorder =
                    Reorder.between(source.target(), source.target(), destination.target(), 4, 8);
            for (OpenClEngine main : List.of(source, destination)) {
                try (CompositeHandle handle = composites
                                .primitive(new EngineSet(main, source, destination), reorder)
                                .open(new EngineSet(main, source, destination));
                        OpenClBuffer from = source.bufferOf(MatMul.numbers(32, 32));
                        OpenClBuffer to = destination.buffer(128)) {
                    handle.execute(Map.of("from", from, "to", to));
                    float[] result = new float[32];
                    to.read(result);
                    float[] expected = new float[32];
                    for (int i = 0; i < 32; i++) {
                        expected[i % 8 * 4 + i / 8] = i - 16;
                    }
                    assertArrayEquals(expected, result);
                }
            }
        }
        assertEquals(1, driver.compiles());
        assertEquals(1, composites.statistics().created());
    }

    @Test
    @DisplayName("Evicted programs stay usable by the primitives that hold them")
    void evictedKernels() throws Exception {
        matMulOnNewEngine();
        provider.programs.setCapacity(0);
        assertEquals(0, provider.programs.size());
        for (int i = 0; i < 3; i++) {
            matMulOnNewEngine();
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("An evicted primitive stays usable by its handles, and its programs stay cached")
    void evictedPrimitive() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                        .open(engine)) {
            composites.setCapacity(0);
            assertEquals(0, composites.statistics().size());
            MatMul.check(engine, handle);
            matMulOnNewEngine();
        }
        assertEquals(2, composites.statistics().created());
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName(
            "A missing operand, an operand of another engine or a foreign kernel is an error, and"
                    + " the handle still works")
    void wrongArguments() throws Exception {
        try (OpenClEngine engine = driver.open();
                OpenClEngine other = driver.open();
                OpenClBuffer here = engine.buffer(4 * 8 * 12);
                OpenClBuffer there = other.buffer(4 * 8 * 12);
                CompositeHandle handle = composites
                        .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                        .open(engine)) {
            String missing = message(() -> handle.execute(Map.of("source", here, "weights", here)));
            assertTrue(missing.contains("needs the argument destination"), missing);
            assertTrue(message(() -> handle.execute(
                            Map.of("source", there, "weights", here, "destination", here)))
                    .contains("another engine"));
            MatMul.check(engine, handle);
        }
    }

    @Test
    @DisplayName("A closed handle throws; closing it again, or after its engine, has no effect")
    void closed() throws Exception {
        OpenClEngine engine = driver.open();
        CompositeHandle handle = composites
                .primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))
                .open(engine);
        engine.close();
        handle.close();
        handle.close();
        String message = String.valueOf(
                assertThrows(IllegalStateException.class, () -> handle.execute(Map.of()))
                        .getMessage());
        assertTrue(message.contains("The handle of MatMul is closed"), message);
    }

    private static String message(Executable call) {
        return String.valueOf(assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
