package dev.granary.gpu.composite;

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
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.SpyDriver;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the binaries of composite primitives, and of their restore, with a real driver. */
@NeedsPocl
class CompositeBinariesTest {
    private static final AtomicBoolean IS_CHANGED = new AtomicBoolean();

    private final SpyDriver driver = new SpyDriver();

    private static CompositeDescriptor<MatMul> product(Target target) {
        return MatMul.packed(target, 8, 12, 4);
    }

    private static CompositePrimitive compile(
            OpenClEngine engine, CompositeDescriptor<?> descriptor) throws CompileException {
        return new InMemoryKernelProvider()
                .composites(16)
                .primitive(EngineSet.of(engine), descriptor);
    }

    /** Compiles, runs and returns the binaries. */
    private KernelBinaries compiled() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            CompositePrimitive primitive = compile(engine, product(engine.target()));
            AtomicInteger complete = new AtomicInteger();
            primitive.onBinariesComplete(complete::incrementAndGet);
            assertEquals(0, complete.get(), "nothing was launched");
            try (CompositeHandle handle = primitive.open(engine)) {
                MatMul.check(engine, handle);
            }
            assertEquals(1, complete.get());
            assertEquals(Primitive.Origin.COMPILED, primitive.origin());
            assertEquals(List.of("product", "transpose", "activation"), primitive.kernels());
            assertTrue(primitive.compileTime().compareTo(Duration.ZERO) > 0);
            assertEquals(3, primitive.geometries().size());
            assertEquals(KernelBinaries.none(), primitive.getBinaries(BinaryKind.PRIMITIVE));
            return primitive.getBinaries(BinaryKind.KERNEL);
        }
    }

    private static List<KernelBinaries> invalid(KernelBinaries sound) {
        List<MemorySegment> all = sound.segments();
        List<MemorySegment> more = new ArrayList<>(all);
        more.add(all.getFirst());
        List<MemorySegment> damaged = new ArrayList<>(all);
        damaged.set(1, MemorySegment.ofArray(new byte[(int) all.get(1).byteSize()]));
        List<MemorySegment> truncated = new ArrayList<>(all);
        truncated.set(2, all.get(2).asSlice(0, 0));
        return List.of(
                KernelBinaries.none(),
                KernelBinaries.ofSegments(all.subList(0, 2)),
                KernelBinaries.ofSegments(more),
                KernelBinaries.ofSegments(damaged),
                KernelBinaries.ofSegments(truncated));
    }

    @Test
    @DisplayName("a composite primitive from its binaries computes the same and compiles nothing;"
            + " other binaries are refused")
    void restore() throws Exception {
        KernelBinaries binaries = compiled();
        assertEquals(3, binaries.segments().size());
        assertEquals(3, driver.compiles());
        try (OpenClEngine engine = driver.open()) {
            CompositeDescriptor<MatMul> descriptor = product(engine.target());
            CompositePrimitive restored =
                    EngineSet.of(engine).create(descriptor, binaries, BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.RESTORED, restored.origin());
            assertEquals(Duration.ZERO, restored.compileTime());
            assertEquals(binaries, restored.getBinaries(BinaryKind.KERNEL));
            AtomicInteger complete = new AtomicInteger();
            restored.onBinariesComplete(complete::incrementAndGet);
            assertEquals(1, complete.get(), "restored ones are complete");
            try (CompositeHandle handle = restored.open(engine)) {
                MatMul.check(engine, handle);
            }
            for (KernelBinaries other : invalid(binaries)) {
                assertThrows(
                        RestoreException.class,
                        () -> EngineSet.of(engine).create(descriptor, other, BinaryKind.KERNEL),
                        other::toString);
            }
            assertThrows(RestoreException.class, () -> EngineSet.of(engine)
                    .create(descriptor, binaries, BinaryKind.PRIMITIVE));
            assertThrows(IllegalArgumentException.class, () -> EngineSet.of(engine)
                    .create(product(NoKernelEngine.target("other")), binaries, BinaryKind.KERNEL));
        }
        OpenClEngine closed = driver.open();
        closed.close();
        assertThrows(IllegalStateException.class, () -> EngineSet.of(closed)
                .create(product(closed.target()), binaries, BinaryKind.KERNEL));
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("A program shared by nested primitives is compiled once, and has one binary")
    void sharedProgram() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            CompositeDescriptor<Softmax> softmax = Softmax.descriptor(engine.target(), 8, 16);
            CompositePrimitive compiled = compile(engine, softmax);
            assertEquals(2, driver.compiles());
            KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
            assertEquals(2, binaries.segments().size());
            try (CompositeHandle handle = EngineSet.of(engine)
                    .create(softmax, binaries, BinaryKind.KERNEL)
                    .open(engine)) {
                Softmax.check(engine, handle);
            }
            assertEquals(2, driver.compiles());
        }
    }

    /** An operation whose implementation does not keep its contract: the kernel changes. */
    record Fickle() {}

    enum FickleVariant implements CompositeImplementation<Fickle> {
        ONLY {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Fickle> descriptor, CreationContext creation)
                    throws CompileException {
                String body = IS_CHANGED.get() ? "{ *to = 2; }" : "{ *to = 1; }";
                creation.kernel(KernelDescriptor.builder(descriptor.target(), "fickle")
                        .source("kernel void fickle(global int* to) " + body)
                        .build());
                return _ -> {};
            }
        }
    }

    @Test
    @DisplayName("An implementation that requests other kernels than those in the id gets no"
            + " binaries of its former ones, and gives none")
    void changedImplementation() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            CompositeDescriptor<Fickle> descriptor = CompositeDescriptor.builder(
                            engine.target(), new Fickle(), FickleVariant.ONLY)
                    .build();
            KernelBinaries binaries = compile(engine, descriptor).getBinaries(BinaryKind.KERNEL);
            assertFalse(binaries.isEmpty());
            IS_CHANGED.set(true);
            RestoreException refused =
                    assertThrows(RestoreException.class, () -> EngineSet.of(engine)
                            .create(descriptor, binaries, BinaryKind.KERNEL));
            assertTrue(
                    String.valueOf(refused.getMessage()).contains("fickle, which has no binary"),
                    refused::toString);
            assertEquals(1, driver.compiles());
            assertEquals(
                    KernelBinaries.none(),
                    compile(engine, descriptor).getBinaries(BinaryKind.KERNEL));
        }
    }

    /** An operation with two ways: its first one does not compile on any device. */
    record TwoWays() {}

    enum TwoWaysVariant implements CompositeImplementation<TwoWays> {
        FALLING_BACK {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<TwoWays> descriptor, CreationContext creation)
                    throws CompileException {
                creation.kernel(kernel(descriptor, "common", "*to = 1;"));
                try {
                    creation.kernel(kernel(descriptor, "first", "no such function();"));
                } catch (CompileException e) {
                    creation.kernel(kernel(descriptor, "second", "*to = 2;"));
                }
                return _ -> {};
            }
        };

        private static KernelDescriptor kernel(
                CompositeDescriptor<?> descriptor, String name, String body) {
            return KernelDescriptor.builder(descriptor.target(), name)
                    .source("kernel void " + name + "(global int* to) { " + body + " }")
                    .build();
        }
    }

    @Test
    @DisplayName("An implementation may request another kernel if one does not compile: each is"
            + " compiled once, and there are no binaries for the id")
    void otherWay() throws Exception {
        try (OpenClEngine engine = driver.open()) {
            CompositePrimitive primitive = compile(
                    engine,
                    CompositeDescriptor.builder(
                                    engine.target(), new TwoWays(), TwoWaysVariant.FALLING_BACK)
                            .build());
            assertEquals(List.of("common", "second"), primitive.kernels());
            assertEquals(3, driver.compiles());
            assertEquals(KernelBinaries.none(), primitive.getBinaries(BinaryKind.KERNEL));
        }
    }
}
