package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.SpyDriver;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

/**
 * Tests of the resources of handles: created once, and released with the handle after any failure;
 * above all the scratchpad. A spy counts native objects.
 */
@NeedsPocl
class ResourcesTest {
    private static final int REPETITIONS = 300;

    private final SpyDriver driver = new SpyDriver();
    private final OpenClEngine engine = driver.open();
    private final InMemoryKernelProvider provider = new InMemoryKernelProvider();
    private final CompositeCache composites = provider.composites(1024);
    private final CompositeDescriptor<MatMul> product = MatMul.packed(engine.target(), 8, 12, 4);

    @AfterEach
    void noObjectsRemain() {
        engine.close();
        assertEquals(Map.of(), driver.alive());
    }

    private CompositeHandle handle(CompositeDescriptor<?> descriptor) throws CompileException {
        return composites.primitive(EngineSet.of(engine), descriptor).open(engine);
    }

    /** A primitive that records its scratchpad and runs nested primitives. */
    record Frame(String name, long bytes, List<CompositeDescriptor<?>> inside) {
        static final List<DeviceBuffer> SCRATCHPADS = new ArrayList<>();
        static final CompositeImplementation<Frame> RECORDING = (descriptor, creation) -> {
            List<CompositePrimitive> nested = creation.nested(descriptor.operation().inside);
            creation.scratchpad("own", descriptor.operation().bytes);
            return run -> {
                SCRATCHPADS.add(run.scratchpad("own"));
                nested.forEach(one -> run.run(one, Map.of()));
            };
        };
    }

    private CompositeDescriptor<Frame> frame(
            String name, long bytes, CompositeDescriptor<?>... inside) {
        return CompositeDescriptor.builder(
                        engine.target(), new Frame(name, bytes, List.of(inside)), Frame.RECORDING)
                .build();
    }

    @Test
    @DisplayName(
            "After hundreds of executed and closed handles, only the engine's native objects exist")
    void noLeaks() throws Exception {
        for (int i = 0; i < REPETITIONS; i++) {
            try (CompositeHandle handle = handle(product)) {
                if (i % 10 == 0) {
                    MatMul.check(engine, handle);
                }
            }
            assertEquals(0, driver.alive("kernel") + driver.alive("buffer"), "after handle " + i);
            assertTrue(
                    driver.alive("program") <= 3,
                    "one for each program, kept for the next handle: " + driver.alive());
        }
        assertTrue(
                driver.created("kernel") >= 3 * REPETITIONS
                        && driver.created("buffer") >= 2 * REPETITIONS,
                "the loop created objects");
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("Closing engines with open handles releases all native objects, many times")
    void engineFreesAll() throws Exception {
        for (int i = 0; i < 25; i++) {
            OpenClEngine other = driver.open();
            composites.primitive(EngineSet.of(other), product).open(other);
            other.close();
            assertEquals(
                    0,
                    driver.alive("kernel") + driver.alive("buffer") + driver.alive("program"),
                    "after engine " + i);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"createProgramWithBinary", "createKernel", "createBuffer", "writeBuffer"})
    @DisplayName(
            "A failure at any step of opening a handle releases all earlier objects, and the next"
                    + " handle works")
    void failureInTheMiddle(String call) throws Exception {
        try (OpenClEngine first = driver.open()) {
            composites.primitive(EngineSet.of(first), product);
        }
        int failures = 0;
        for (int steps = 0; steps < 10; steps++) {
            driver.failAfter(call, steps);
            try (CompositeHandle handle = handle(product)) {
                MatMul.check(engine, handle);
            } catch (DriverException e) {
                failures++;
            }
            driver.failAfter(call, Integer.MAX_VALUE);
            assertEquals(
                    0,
                    driver.alive("kernel") + driver.alive("buffer"),
                    call + " failing after " + steps + ": " + driver.alive());
        }
        boolean recovers = call.equals("createProgramWithBinary"); // by compiling again
        assertTrue(
                recovers ? failures == 0 : failures > 0, call + " failed " + failures + " times");
        try (CompositeHandle handle = handle(product)) {
            MatMul.check(engine, handle);
        }
    }

    @Test
    @DisplayName("Equal nested primitives share one resource")
    void shared() throws Exception {
        assertEquals(1, leafCreations(provider.composites(1024)));
    }

    @Test
    @DisplayName("Equal nested primitives share one resource, even if each was created separately")
    void sharedWithoutCache() throws Exception {
        int tries = 0;
        // both branches requested it at the same time
        while (leafCreations(provider.composites(0)) == 1) {
            assertTrue(++tries < 100, "the leaf was never created twice");
        }
    }

    /**
     * Opens a handle with one leaf in two branches, and returns the number of creations of the
     * leaf.
     */
    private long leafCreations(CompositeCache cache) throws Exception {
        CompositeDescriptor<Activation> leaf =
                Activation.descriptor(engine.target(), 4, Attributes.none().with("scales", 1, 2));
        CompositeDescriptor<Frame> left = frame("left", 1, leaf);
        CompositeDescriptor<Frame> right = frame("right", 1, leaf);
        int kernels = driver.created("kernel");
        int buffers = driver.created("buffer");
        try (CompositeHandle handle = cache.primitive(
                        EngineSet.of(engine), frame("top", 1, left, right))
                .open(engine)) {
            assertEquals(4, handle.resources(), "top, left, right, and one leaf");
            long created = cache.statistics().nestedCreated() - 2;
            List<CompositePrimitive> leaves = handle.primitive().nested().stream()
                    .flatMap(one -> one.nested().stream())
                    .toList();
            assertEquals(2, leaves.size());
            assertEquals(created, leaves.stream().distinct().count());
            assertEquals(
                    2,
                    driver.created("buffer") - buffers,
                    "constant memory of one leaf, one scratchpad");
            assertTrue(
                    driver.created("kernel") - kernels <= 2,
                    "the program's own check, and one loaded kernel");
            return created;
        }
    }

    @Test
    @DisplayName("The outermost primitive's scratchpad includes nested needs, and is split into"
            + " disjoint parts")
    void scratchpad() throws Exception {
        CompositeDescriptor<Frame> small = frame("small", 100);
        CompositeDescriptor<Frame> large = frame("large", 5000);
        CompositeDescriptor<Frame> middle = frame("middle", 10, small, large);
        CompositeDescriptor<Frame> top = frame("top", 4097, middle, small);
        assertEquals(4096, composites.primitive(EngineSet.of(engine), small).scratchpadBytes());
        assertEquals(
                4096 + 8192,
                composites.primitive(EngineSet.of(engine), middle).scratchpadBytes(),
                "its own, and the largest nested one");
        int before = driver.created("buffer");
        try (CompositeHandle handle = handle(top)) {
            assertEquals(8192 + 4096 + 8192, handle.primitive().scratchpadBytes());
            assertEquals(1, driver.created("buffer") - before, "one buffer for all");
            Frame.SCRATCHPADS.clear();
            handle.execute(Map.of());
            handle.execute(Map.of());
            assertEquals(10, Frame.SCRATCHPADS.size());
            Set<DeviceBuffer> parts = new HashSet<>(Frame.SCRATCHPADS);
            assertEquals(
                    5,
                    parts.size(),
                    "same ranges again; top, middle, small and large in it share a start; small in"
                            + " top");
            assertEquals(5, driver.calls("createSubBuffer"));
            checkApart(
                    Frame.SCRATCHPADS.get(0), Frame.SCRATCHPADS.get(1), Frame.SCRATCHPADS.get(2));
        }
    }

    private static void checkApart(DeviceBuffer... parts) {
        for (int i = 0; i < parts.length; i++) {
            parts[i].writeFrom(MemorySegment.ofArray(filled(parts[i], i + 1)));
        }
        for (int i = 0; i < parts.length; i++) {
            byte[] content = new byte[Math.toIntExact(parts[i].byteSize())];
            parts[i].readTo(MemorySegment.ofArray(content));
            assertEquals(i + 1, content[0]);
            assertEquals(i + 1, content[content.length - 1]);
        }
    }

    private static byte[] filled(DeviceBuffer part, int value) {
        byte[] content = new byte[Math.toIntExact(part.byteSize())];
        Arrays.fill(content, (byte) value);
        return content;
    }

    @Test
    @DisplayName("A cached primitive has no scratchpad, and each handle has its own")
    void scratchpadPerHandle() throws Exception {
        CompositeDescriptor<Frame> frame = frame("alone", 64);
        composites.primitive(EngineSet.of(engine), frame);
        assertEquals(0, driver.alive("buffer"), "a primitive in the cache has none");
        Frame.SCRATCHPADS.clear();
        try (CompositeHandle first = handle(frame);
                CompositeHandle second = handle(frame)) {
            assertEquals(2, driver.alive("buffer"));
            first.execute(Map.of());
            second.execute(Map.of());
            checkApart(Frame.SCRATCHPADS.get(0), Frame.SCRATCHPADS.get(1));
        }
        assertEquals(0, driver.alive("buffer"));
        try (CompositeHandle none = handle(Reorder.descriptor(engine.target(), 4, 4))) {
            assertEquals(0, none.primitive().scratchpadBytes());
            assertEquals(0, driver.alive("buffer"), "no scratchpad if none is needed");
        }
    }

    @Test
    @DisplayName("Each handle has its own constant memory, with the content as of the primitive's"
            + " creation")
    void constants() throws Exception {
        List<DeviceBuffer> seen = new ArrayList<>();
        float[] scales = {1, 2, 3};
        record Scaled(String name) {}
        CompositeImplementation<Scaled> implementation = (_, creation) -> {
            creation.constant("scales", scales);
            return run -> seen.add(run.constant("scales"));
        };
        CompositeDescriptor<Scaled> descriptor = CompositeDescriptor.builder(
                        engine.target(), new Scaled("a"), implementation)
                .build();
        composites.primitive(EngineSet.of(engine), descriptor);
        scales[0] = 9;
        try (CompositeHandle first = handle(descriptor);
                CompositeHandle second = handle(descriptor)) {
            first.execute(Map.of());
            second.execute(Map.of());
            assertNotSame(seen.get(0), seen.get(1));
            float[] content = new float[3];
            seen.get(1).readTo(MemorySegment.ofArray(content));
            assertEquals(List.of(1f, 2f, 3f), List.of(content[0], content[1], content[2]));
        }
    }

    @Test
    @DisplayName(
            "Executions of one handle are serialized, so that eight threads get correct results")
    void oneHandleManyThreads() throws Exception {
        try (CompositeHandle handle = handle(product)) {
            List<Callable<Boolean>> work = Collections.nCopies(8, () -> {
                for (int i = 0; i < 5; i++) {
                    MatMul.check(engine, handle);
                }
                return true;
            });
            try (var threads = Executors.newFixedThreadPool(8)) {
                for (var done : threads.invokeAll(work)) {
                    assertTrue(done.get());
                }
            }
        }
    }

    @Test
    @DisplayName("A slice shares the buffer's memory; a range outside, or a slice of a slice, is"
            + " refused")
    void slices() {
        try (OpenClBuffer whole = engine.bufferOf(new int[3000]);
                OpenClBuffer part = whole.slice(4096, 8)) {
            part.write(new int[] {7, 8});
            byte[] content = new byte[12000];
            whole.read(content);
            assertEquals(
                    8, MemorySegment.ofArray(content).get(ValueLayout.JAVA_INT_UNALIGNED, 4100));
            assertThrows(IllegalArgumentException.class, () -> whole.slice(4096, 12000));
            assertThrows(IllegalArgumentException.class, () -> whole.slice(-4096, 8));
            assertThrows(IllegalArgumentException.class, () -> part.slice(0, 4));
        }
    }
}
