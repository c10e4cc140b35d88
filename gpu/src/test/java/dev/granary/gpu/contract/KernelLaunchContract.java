package dev.granary.gpu.contract;

import static dev.granary.gpu.contract.VectorLaunches.COUNT;
import static dev.granary.gpu.contract.VectorLaunches.GEOMETRY;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The contract of launches and buffers, for engines whose device computes. */
public abstract class KernelLaunchContract {
    private static final int THREADS = 4;
    private static final int LAUNCHES = 50;

    private EngineUnderTest backend;
    private KernelEngine engine;
    private KernelProgram primitive;
    private LoadedKernels kernels;

    /** Returns the backend for one test. */
    protected abstract EngineUnderTest backend();

    @BeforeEach
    void open() throws Exception {
        backend = backend();
        engine = backend.open();
        primitive = engine.create(backend.vectors(1).build());
        kernels = engine.load(primitive);
    }

    @AfterEach
    void nothingIsLeft() {
        engine.close();
        Await.holds(() -> backend.liveObjects() == 0);
    }

    private static void assertSays(Class<? extends Throwable> type, String part, Executable call) {
        String message = String.valueOf(assertThrows(type, call).getMessage());
        assertTrue(message.contains(part), message);
    }

    @Test
    @DisplayName("Buffers, numbers and local memory are arguments; each launch has its own")
    void arguments() {
        assertArrayEquals(
                VectorLaunches.scaled(2.5f), VectorLaunches.scale(engine, kernels, GEOMETRY, 2.5f));
        assertArrayEquals(VectorLaunches.scaled(2), VectorLaunches.add(engine, kernels));
        assertArrayEquals(VectorLaunches.reversed(), VectorLaunches.reverse(engine, kernels));
        assertArrayEquals(
                VectorLaunches.scaled(-1), VectorLaunches.scale(engine, kernels, GEOMETRY, -1f));
    }

    @Test
    @DisplayName(
            "The bytes of a segment, and the remaining bytes of a buffer, are an argument of any"
                    + " type")
    void bytes() {
        float[] numbers = {1, 2.5f, 7};
        MemorySegment second = MemorySegment.ofArray(numbers).asSlice(Float.BYTES, Float.BYTES);
        ByteBuffer odd = ByteBuffer.allocateDirect(6).position(1).limit(5).slice();
        MemorySegment.ofBuffer(odd).copyFrom(second);
        for (Object bytes : List.of(second, odd)) {
            assertArrayEquals(
                    VectorLaunches.scaled(2.5f),
                    VectorLaunches.scale(engine, kernels, GEOMETRY, bytes),
                    bytes.toString());
        }
        assertSays(
                DriverException.class,
                " as parameter 2: ",
                () -> VectorLaunches.scale(
                        engine, kernels, GEOMETRY, MemorySegment.ofArray(numbers)));
    }

    @Test
    @DisplayName("Launches have one to three dimensions, and groups of the driver's choice")
    void geometries() {
        for (Geometry geometry : List.of(
                Geometry.of(COUNT),
                Geometry.of(COUNT, 1).local(32, 1),
                Geometry.of(COUNT, 1, 1).local(64, 1, 1),
                Geometry.of(COUNT, 1, 1))) {
            assertArrayEquals(
                    VectorLaunches.scaled(3),
                    VectorLaunches.scale(engine, kernels, geometry, 3f),
                    geometry.toString());
        }
    }

    @Test
    @DisplayName("Wrong arguments throw exceptions that name the mistake, and later launches work")
    void wrongArguments() throws Exception {
        try (DeviceBuffer in = VectorLaunches.filled(engine, VectorLaunches.input());
                KernelEngine other = backend.open();
                DeviceBuffer foreign = other.buffer(COUNT * Float.BYTES)) {
            Class<IllegalArgumentException> illegal = IllegalArgumentException.class;
            assertSays(
                    illegal,
                    "java.lang.String",
                    () -> kernels.launch("scale", GEOMETRY, in, in, "2"));
            assertSays(
                    illegal,
                    "3 parameters, not 2",
                    () -> kernels.launch("scale", GEOMETRY, in, in));
            assertSays(
                    illegal,
                    "3 parameters, not 4",
                    () -> kernels.launch("scale", GEOMETRY, in, in, 2f, 3f));
            assertSays(
                    illegal,
                    "another engine",
                    () -> kernels.launch("scale", GEOMETRY, in, foreign, 2f));
            assertSays(
                    DriverException.class,
                    "The kernel scale does not take Double 2.0 as parameter 2: ",
                    () -> kernels.launch("scale", GEOMETRY, in, in, 2d));
            assertSays(
                    DriverException.class,
                    "; the kernels of " + primitive.descriptor().name() + " are "
                            + String.join(", ", primitive.kernels()),
                    () -> kernels.launch("absent", GEOMETRY));
            assertThrows(
                    RuntimeException.class,
                    () -> kernels.launch("scale", Geometry.of(100).local(64), in, in, 2f));
            assertSays(
                    DriverException.class,
                    " failed with ",
                    () -> kernels.launch("scale", Geometry.of(1 << 20).local(1 << 20), in, in, 2f));
        }
        assertSays(IllegalArgumentException.class, "positive size", () -> engine.buffer(0));
        assertSays(IllegalArgumentException.class, "positive size", () -> new LocalMemory(0));
        assertArrayEquals(VectorLaunches.scaled(2), VectorLaunches.add(engine, kernels));
    }

    @Test
    @DisplayName("Transfers must fit; a buffer that is closed throws, and closes once")
    void buffers() {
        DeviceBuffer buffer = engine.buffer(8);
        assertEquals(8, buffer.byteSize());
        for (int size : new int[] {0, 3}) {
            float[] wrong = new float[size];
            assertSays(
                    IllegalArgumentException.class,
                    "does not fit",
                    () -> buffer.writeFrom(MemorySegment.ofArray(wrong)));
            assertSays(
                    IllegalArgumentException.class,
                    "does not fit",
                    () -> buffer.readTo(MemorySegment.ofArray(wrong)));
        }
        buffer.close();
        buffer.close();
        assertSays(
                IllegalStateException.class,
                "buffer is closed",
                () -> VectorLaunches.content(buffer));
        assertSays(
                IllegalStateException.class,
                "buffer is closed",
                () -> kernels.launch("add", GEOMETRY, buffer, buffer, buffer));
    }

    @Test
    @DisplayName("A slice shares the memory of its buffer, also as an argument and in transfers")
    void slices() {
        int offset = 4096;
        float[] zeros = new float[offset / Float.BYTES + COUNT];
        try (DeviceBuffer whole = VectorLaunches.filled(engine, zeros);
                DeviceBuffer slice = whole.slice(offset, COUNT * Float.BYTES);
                DeviceBuffer in = VectorLaunches.filled(engine, VectorLaunches.input())) {
            assertEquals(COUNT * Float.BYTES, slice.byteSize());
            kernels.launch("scale", GEOMETRY, in, slice, 7f);
            assertArrayEquals(VectorLaunches.scaled(7), VectorLaunches.content(slice));
            float[] all = VectorLaunches.content(whole);
            assertEquals(7, all[offset / Float.BYTES + 1]);
            assertEquals(0, all[1]);
            Class<IllegalArgumentException> illegal = IllegalArgumentException.class;
            assertThrows(illegal, () -> whole.slice(-1, 4));
            assertThrows(illegal, () -> whole.slice(0, 0));
            assertThrows(illegal, () -> whole.slice(offset, zeros.length * (long) Float.BYTES));
            assertThrows(illegal, () -> whole.slice(Long.MAX_VALUE, Long.MAX_VALUE));
            assertThrows(illegal, () -> slice.slice(0, 4));
        }
    }

    @Test
    @DisplayName("Kernels that are closed throw, and close once; others of the primitive go on")
    void closedKernels() throws Exception {
        LoadedKernels others = engine.load(primitive);
        kernels.close();
        kernels.close();
        assertSays(
                IllegalStateException.class,
                "kernels are closed",
                () -> VectorLaunches.add(engine, kernels));
        assertThrows(IllegalStateException.class, kernels::createKernels);
        assertArrayEquals(VectorLaunches.scaled(2), VectorLaunches.add(engine, others));
    }

    @Test
    @DisplayName("Several threads load, launch and transfer in one engine at the same time")
    void threads() throws Exception {
        List<Callable<Boolean>> tasks = new ArrayList<>();
        for (int thread = 1; thread <= THREADS; thread++) {
            float factor = thread;
            tasks.add(() -> {
                try (LoadedKernels own = engine.load(primitive)) {
                    for (int i = 0; i < LAUNCHES; i++) {
                        assertArrayEquals(
                                VectorLaunches.scaled(factor),
                                VectorLaunches.scale(engine, own, GEOMETRY, factor));
                    }
                }
                return true;
            });
        }
        try (ExecutorService executor = Executors.newFixedThreadPool(THREADS)) {
            for (Future<Boolean> done : executor.invokeAll(tasks)) {
                assertTrue(done.get());
            }
        }
    }

    @Test
    @DisplayName("Closing waits for launches in progress; threads then get an exception")
    void closedAmidLaunches() throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(THREADS)) {
            List<Future<Integer>> running = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                running.add(executor.submit(() -> {
                    int launches = 0;
                    try (LoadedKernels own = engine.load(primitive)) {
                        while (true) {
                            assertArrayEquals(
                                    VectorLaunches.scaled(2), VectorLaunches.add(engine, own));
                            launches++;
                        }
                    } catch (IllegalStateException closed) {
                        return launches;
                    }
                }));
            }
            VectorLaunches.add(engine, kernels);
            engine.close();
            for (Future<Integer> done : running) {
                assertTrue(done.get() >= 0);
            }
        }
    }
}
