package dev.granary.gpu.contract;

import static dev.granary.gpu.contract.VectorLaunches.GEOMETRY;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The contract of an engine's binaries and of its life: what {@link KernelEngine} and
 * {@link Primitive} promise to the caches. {@link KernelLaunchContract} has launches and buffers.
 */
public abstract class KernelEngineContract {
    private EngineUnderTest backend;
    private KernelEngine engine;

    /** Returns the backend for one test. */
    protected abstract EngineUnderTest backend();

    @BeforeEach
    void open() {
        backend = backend();
        engine = backend.open();
    }

    @AfterEach
    void nothingIsLeft() {
        engine.close();
        Await.holds(() -> backend.liveObjects() == 0);
    }

    private void assertRuns(KernelEngine on, KernelProgram primitive, float factor)
            throws Exception {
        try (LoadedKernels kernels = on.load(primitive)) {
            assertArrayEquals(
                    VectorLaunches.scaled(2 * factor),
                    VectorLaunches.scale(on, kernels, GEOMETRY, 2f));
        }
    }

    @Test
    @DisplayName("a compiled primitive runs; a restored one runs the same without the compiler")
    void restore() throws Exception {
        KernelDescriptor descriptor = backend.vectors(3).build();
        KernelProgram compiled = engine.create(descriptor);
        assertEquals(Primitive.Origin.COMPILED, compiled.origin());
        assertEquals(List.of("add", "reverse", "scale"), compiled.kernels());
        assertFalse(compiled.compileTime().isZero());
        assertRuns(engine, compiled, 3);
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        assertEquals(1, binaries.segments().size());
        assertTrue(binaries.byteSize() > 0);
        assertTrue(compiled.getBinaries(BinaryKind.PRIMITIVE).isEmpty());
        long before = backend.compiles();
        KernelProgram restored = engine.create(descriptor, binaries, BinaryKind.KERNEL);
        assertEquals(Primitive.Origin.RESTORED, restored.origin());
        assertEquals(compiled.kernels(), restored.kernels());
        assertEquals(binaries, restored.getBinaries(BinaryKind.KERNEL));
        assertTrue(restored.compileTime().isZero());
        assertRuns(engine, restored, 3);
        assertRuns(engine, restored, 3); // the second load
        assertEquals(before, backend.compiles());
    }

    @Test
    @DisplayName("binaries of two programs never mix")
    void twoPrograms() throws Exception {
        KernelDescriptor times1 = backend.vectors(1).build();
        KernelDescriptor times5 = backend.vectors(5).build();
        KernelProgram one = engine.create(times1);
        KernelProgram five = engine.create(times5);
        KernelBinaries ofOne = one.getBinaries(BinaryKind.KERNEL);
        KernelBinaries ofFive = five.getBinaries(BinaryKind.KERNEL);
        assertFalse(ofOne.equals(ofFive));
        assertRuns(engine, engine.create(times5, ofFive, BinaryKind.KERNEL), 5);
        assertRuns(engine, engine.create(times1, ofOne, BinaryKind.KERNEL), 1);
    }

    @Test
    @DisplayName("wrong kind, no, empty or two binaries, the empty id and another target are"
            + " refused")
    void refused() {
        KernelDescriptor descriptor = backend.vectors(1).build();
        KernelDescriptor uncacheable = backend.vectors(1).options("-I/tmp").build();
        KernelBinaries one = KernelBinaries.of(new byte[] {1, 2, 3});
        for (KernelBinaries wrong : List.of(
                KernelBinaries.none(),
                KernelBinaries.of(new byte[0]),
                KernelBinaries.of(new byte[1], new byte[1]))) {
            assertThrows(
                    RestoreException.class,
                    () -> engine.create(descriptor, wrong, BinaryKind.KERNEL));
        }
        assertThrows(
                RestoreException.class, () -> engine.create(descriptor, one, BinaryKind.PRIMITIVE));
        assertTrue(uncacheable.getId().isEmpty());
        assertThrows(
                RestoreException.class, () -> engine.create(uncacheable, one, BinaryKind.KERNEL));
        KernelDescriptor foreign = KernelDescriptor.builder(
                        new Target(backend.target().backend(), "v", "d", "1"), "foreign")
                .source("x")
                .build();
        assertThrows(
                IllegalArgumentException.class,
                () -> engine.create(foreign, one, BinaryKind.KERNEL));
        assertThrows(IllegalArgumentException.class, () -> engine.create(foreign));
        assertEquals(0, backend.compiles());
    }

    @Test
    @DisplayName("bytes that are no binary are refused, and the next build works")
    void noBinary() throws Exception {
        KernelDescriptor descriptor = backend.vectors(1).build();
        RestoreException refused = assertThrows(
                RestoreException.class,
                () -> engine.create(
                        descriptor, KernelBinaries.of(new byte[] {1, 2, 3}), BinaryKind.KERNEL));
        assertFalse(refused.isMissingKernel());
        assertRuns(engine, engine.create(descriptor), 1);
    }

    @Test
    @DisplayName("A program that does not compile throws with its build log, and leaves no objects")
    void broken() {
        long before = backend.liveObjects();
        CompileException failure = assertThrows(
                CompileException.class, () -> engine.create(backend.broken().build()));
        assertTrue(failure.buildLog().contains("nope"), failure.buildLog());
        assertTrue(String.valueOf(failure.getMessage()).contains("nope"));
        assertEquals(before, backend.liveObjects());
    }

    @Test
    @DisplayName("entries select kernels and do not change the id; a missing one is named")
    void entries() throws Exception {
        KernelDescriptor some = backend.vectors(1).entry("scale").build();
        KernelDescriptor more = backend.vectors(1).entry("scale", "absent").build();
        assertEquals(some.getId(), backend.vectors(1).build().getId());
        assertEquals(some.getId(), more.getId());
        KernelProgram primitive = engine.create(some);
        assertEquals(List.of("scale"), primitive.kernels());
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        KernelProgram all = engine.create(backend.vectors(1).build(), binaries, BinaryKind.KERNEL);
        assertEquals(List.of("add", "reverse", "scale"), all.kernels());
        long before = backend.liveObjects();
        CompileException refused = assertThrows(CompileException.class, () -> engine.create(more));
        assertTrue(String.valueOf(refused.getMessage()).contains("absent"), refused.getMessage());
        assertTrue(assertThrows(
                        RestoreException.class,
                        () -> engine.create(more, binaries, BinaryKind.KERNEL))
                .isMissingKernel());
        assertEquals(before, backend.liveObjects());
    }

    @Test
    @DisplayName("a primitive with the empty id has no binaries, but loads and runs")
    void notCacheable() throws Exception {
        KernelProgram primitive =
                engine.create(backend.vectors(1).options("-I/tmp").build());
        assertTrue(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
        assertRuns(engine, primitive, 1);
        assertRuns(engine, primitive, 1);
    }

    @Test
    @DisplayName("a primitive outlives its engine: the next engine loads it without compiling")
    void outlivesEngine() throws Exception {
        KernelProgram primitive;
        try (KernelEngine first = backend.open()) {
            primitive = first.create(backend.vectors(1).build());
            primitive.outliveEngine();
        }
        AtomicInteger again = new AtomicInteger();
        primitive.onCompiledAgain(again::incrementAndGet);
        long before = backend.compiles();
        assertRuns(engine, primitive, 1);
        try (KernelEngine beside = backend.open()) {
            assertRuns(beside, primitive, 1);
        }
        assertEquals(before, backend.compiles());
        assertEquals(0, again.get());
    }

    @Test
    @DisplayName("Closing an engine releases kernels, programs and buffers; later calls throw")
    void closed() throws Exception {
        KernelEngine closing = backend.open();
        KernelDescriptor descriptor = backend.vectors(1).build();
        KernelProgram primitive = closing.create(descriptor);
        LoadedKernels kernels = closing.load(primitive);
        kernels.createKernels();
        VectorLaunches.add(closing, kernels);
        var buffer = VectorLaunches.filled(closing, new float[1]);
        closing.close();
        closing.close();
        assertThrows(IllegalStateException.class, () -> closing.create(descriptor));
        assertThrows(
                IllegalStateException.class,
                () -> closing.create(
                        descriptor, KernelBinaries.of(new byte[1]), BinaryKind.KERNEL));
        assertThrows(IllegalStateException.class, () -> closing.load(primitive));
        assertThrows(IllegalStateException.class, () -> closing.buffer(4));
        assertThrows(IllegalStateException.class, () -> VectorLaunches.content(buffer));
        assertThrows(IllegalStateException.class, () -> buffer.slice(0, 4));
        assertThrows(
                IllegalStateException.class,
                () -> kernels.launch("add", GEOMETRY, buffer, buffer, buffer));
        assertThrows(IllegalStateException.class, kernels::createKernels);
        kernels.close();
        buffer.close();
    }
}
