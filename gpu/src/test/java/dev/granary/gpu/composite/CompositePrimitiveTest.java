package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.SpyDriver;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Real operations on a real driver: what is created once, what serves which context. */
@NeedsPocl
class CompositePrimitiveTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);

    private final SpyDriver driver = new SpyDriver();
    private final InMemoryKernelProvider shelf = new InMemoryKernelProvider();
    private final CompositeCache composites = shelf.composites(1024);
    private WeakReference<OpenClEngine> opened = new WeakReference<>(null);

    @AfterEach
    void nothingStays() {
        assertEquals(Map.of(), driver.alive());
        assertEquals(0, composites.waitingCreations());
    }

    private void matMulOnNewEngine() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites.handle(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))) {
            opened = new WeakReference<>(engine);
            MatMul.check(engine, handle);
        }
    }

    @Test
    @DisplayName("A matrix product with a nested reorder, and an activation with scales in constant memory, computes what a loop does")
    void matMul() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            for (MatMul.Ways how : MatMul.Ways.values()) {
                try (CompositeHandle handle =
                        composites.handle(EngineSet.of(engine), MatMul.descriptor(engine.target(), 8, 12, 4, how))) {
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
    @DisplayName("Softmax of two nested reductions; their two kernels are in one program, which is compiled once and kept once")
    void softmax() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites.handle(EngineSet.of(engine), Softmax.descriptor(engine.target(), 8, 16))) {
            Softmax.check(engine, handle);
            assertEquals(2, handle.primitive().nested().size());
            List<Primitive> programs = handle.primitive().nested().stream().flatMap(nested -> nested.kernels().stream()).toList();
            assertSame(programs.get(0), programs.get(1));
        }
        assertEquals(2, driver.compiles());
        assertEquals(2, shelf.programs.size());
        assertEquals(3, composites.statistics().size());
    }

    @Test
    @DisplayName("An engine made anew for each call: the cached primitive serves, and nothing is compiled again")
    void engineForEachCall() throws Exception {
        for (int i = 0; i < 20; i++) {
            matMulOnNewEngine();
        }
        assertEquals(3, driver.compiles());
        assertEquals(3 * 19, driver.restores(), "each call after the first makes its three programs from binaries");
        assertEquals(1, composites.statistics().created());
        assertEquals(19, composites.statistics().hits());
    }

    @Test
    @DisplayName("A primitive whose first engine was closed before anything was launched serves the next engine without compiling")
    void closedBeforeTheLaunch() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            composites.primitive(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4));
        }
        assertEquals(Map.of(), driver.alive(), "the cached primitive holds nothing of a context");
        matMulOnNewEngine();
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("Two contexts at once: one primitive, one compile, both compute in turn")
    void twoContexts() throws Exception {
        try (OpenClEngine first = driver.open(); OpenClEngine second = driver.open()) {
            CompositeDescriptor<MatMul> product = MatMul.packed(first.target(), 8, 12, 4);
            try (CompositeHandle here = composites.handle(EngineSet.of(first), product);
                    CompositeHandle there = composites.handle(EngineSet.of(second), product)) {
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
    @DisplayName("A cached primitive keeps no engine in memory")
    void engineIsFree() throws Exception {
        for (int i = 0; i < 2; i++) { // the first compiles, the second makes programs from binaries
            matMulOnNewEngine();
            assertTimeoutPreemptively(GENEROUS, () -> {
                while (!opened.refersTo(null)) {
                    System.gc();
                }
            });
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("M5 12 threads create 12 primitives with the same nested activation: 12 and one, each program compiled once")
    void twelveByTwelve() throws Exception {
        try (OpenClEngine engine = driver.open(); ExecutorService threads = Executors.newFixedThreadPool(12)) {
            CyclicBarrier start = new CyclicBarrier(12);
            Callable<Integer> work = () -> {
                start.await();
                for (int i = 0; i < 12; i++) {
                    int inner = 4 * (1 + i);
                    try (CompositeHandle handle = composites.handle(EngineSet.of(engine), MatMul.packed(engine.target(), 4, inner, 4))) {
                        MatMul.check(engine, handle);
                    }
                }
                return 0;
            };
            for (Future<Integer> done : threads.invokeAll(IntStream.range(0, 12).mapToObj(_ -> work).toList())) {
                done.get();
            }
        }
        CompositeStatistics counted = composites.statistics();
        assertEquals(List.of(12L, 132L, 13L, 11L, 0L),
                List.of(counted.created(), counted.hits(), counted.nestedCreated(), counted.nestedHits(), counted.failed()));
        assertEquals(25, counted.size());
        assertEquals(12 + 12 + 1, driver.compiles(), "products, reorders by their launch, one activation");
    }

    /** Writes the numbers of its programs, one after the other. */
    record Numbers(List<String> sources) {
        static final CompositeImplementation<Numbers> TOGETHER = (descriptor, creation) -> {
            List<Primitive> programs = creation.kernels(descriptor.operation().sources.stream()
                    .map(source -> KernelDescriptor.builder(descriptor.target(), "number")
                            .source("kernel void number(global int* to) { " + source + " }").build())
                    .toList());
            return run -> programs.forEach(program -> run.launch(program, "number", Geometry.of(1).local(1), run.argument("to")));
        };
    }

    @Test
    @DisplayName("Several programs obtained at once: each compiled once, in the order asked for; one that does not compile fails the creation")
    void kernelsTogether() throws Exception {
        try (OpenClEngine engine = driver.open(); OpenClBuffer to = engine.bufferOf(new int[1])) {
            List<String> sources = List.of("*to = 5;", "*to = *to * 7;", "*to = *to + 1;");
            try (CompositeHandle handle = composites.handle(EngineSet.of(engine),
                    CompositeDescriptor.builder(engine.target(), new Numbers(sources), Numbers.TOGETHER).build())) {
                handle.execute(Map.of("to", to));
            }
            int[] result = new int[1];
            to.read(result);
            assertEquals(36, result[0]);
            CompositeDescriptor<Numbers> wrong = CompositeDescriptor.builder(
                    engine.target(), new Numbers(List.of("*to = 5;", "no_such_thing();", "*to = 9;")), Numbers.TOGETHER).build();
            String said = String.valueOf(
                    assertThrows(CompileException.class, () -> composites.handle(EngineSet.of(engine), wrong)).getMessage());
            assertTrue(said.contains("no_such_thing"), said);
        }
        assertEquals(5, driver.compiles());
        assertEquals(4, shelf.programs.size(), "what compiled stays for the next");
        assertEquals(1, composites.statistics().size());
    }

    @Test
    @DisplayName("M8 a reorder between two engines runs on either, with source and destination in different contexts")
    void betweenEngines() throws Exception {
        try (OpenClEngine source = driver.open(); OpenClEngine destination = driver.open()) {
            CompositeDescriptor<Reorder> reorder = Reorder.between(source.target(), source.target(), destination.target(), 4, 8);
            for (OpenClEngine main : List.of(source, destination)) {
                try (CompositeHandle handle = composites.handle(new EngineSet(main, source, destination), reorder);
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
    @DisplayName("Evicting programs from the level of kernels harms no primitive that holds them")
    void evictedKernels() throws Exception {
        matMulOnNewEngine();
        shelf.programs.setCapacity(0);
        assertEquals(0, shelf.programs.size());
        for (int i = 0; i < 3; i++) {
            matMulOnNewEngine();
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("Evicting a primitive harms no handle, and its programs are still on the level of kernels")
    void evictedPrimitive() throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = composites.handle(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))) {
            composites.setCapacity(0);
            assertEquals(0, composites.statistics().size());
            MatMul.check(engine, handle);
            matMulOnNewEngine();
        }
        assertEquals(2, composites.statistics().created());
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("An operand that is missing, of another engine, or a kernel that is not the primitive's: said, and the handle still works")
    void wrongArguments() throws Exception {
        try (OpenClEngine engine = driver.open();
                OpenClEngine other = driver.open();
                OpenClBuffer here = engine.buffer(4 * 8 * 12);
                OpenClBuffer there = other.buffer(4 * 8 * 12);
                CompositeHandle handle = composites.handle(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4))) {
            String missing = said(() -> handle.execute(Map.of("source", here, "weights", here)));
            assertTrue(missing.contains("needs the argument destination"), missing);
            assertTrue(said(() -> handle.execute(Map.of("source", there, "weights", here, "destination", here))).contains("another engine"));
            MatMul.check(engine, handle);
        }
    }

    @Test
    @DisplayName("A closed handle says so; closing it twice, or after its engine, is nothing")
    void closed() throws Exception {
        OpenClEngine engine = driver.open();
        CompositeHandle handle = composites.handle(EngineSet.of(engine), MatMul.packed(engine.target(), 8, 12, 4));
        engine.close();
        handle.close();
        handle.close();
        String said = String.valueOf(assertThrows(IllegalStateException.class, () -> handle.execute(Map.of())).getMessage());
        assertTrue(said.contains("The handle of MatMul is closed"), said);
    }

    private static String said(Executable call) {
        return String.valueOf(assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
