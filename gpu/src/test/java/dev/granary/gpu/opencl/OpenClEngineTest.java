package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.binding.ProgramCalls;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Tests of binaries and the engine, with a spy on the real driver. */
@NeedsPocl
class OpenClEngineTest {
    private final SpyBinding spy = new SpyBinding();
    private final OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());

    @AfterEach
    void close() {
        engine.close();
    }

    private KernelDescriptor.Builder sample() {
        return SampleKernels.builder(engine.target());
    }

    @Test
    @DisplayName("a restored primitive has the same output, and no source reaches the driver")
    void restore() throws Exception {
        KernelProgram compiled = engine.create(sample().build());
        assertEquals(Primitive.Origin.COMPILED, compiled.origin());
        assertEquals(List.of("reverse", "shift"), compiled.kernels());
        KernelBinaries binaries = compiled.getBinaries(BinaryKind.KERNEL);
        assertEquals(1, binaries.segments().size());
        assertEquals(binaries, compiled.getBinaries(BinaryKind.KERNEL));
        assertEquals(1, spy.count("programBinary"), "the binary is taken once");
        KernelProgram restored = engine.create(compiled.descriptor(), binaries, BinaryKind.KERNEL);
        assertEquals(Primitive.Origin.RESTORED, restored.origin());
        assertEquals(compiled.kernels(), restored.kernels());
        assertEquals(binaries, restored.getBinaries(BinaryKind.KERNEL));
        for (int i = 0; i < 2; i++) { // the second load uses the binaries
            try (LoadedKernels kernels = engine.load(restored)) {
                SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
            }
        }
        assertEquals(1, spy.count("createProgramWithSource"));
    }

    @Test
    @DisplayName("Values of any type are arguments as bytes: short, float4, and a struct")
    void values() throws Exception {
        KernelDescriptor descriptor =
                KernelDescriptor.builder(engine.target(), "values").source("""
                        typedef struct { int scale; float4 add; } Change;
                        kernel void change(global float4 *out, short n, float4 v, Change c) {
                            out[0] = n * c.scale * v + c.add;
                        }
                        """).build();
        MemorySegment vector = MemorySegment.ofArray(new float[] {1, 2, 3, 4});
        ByteBuffer change = ByteBuffer.allocate(32).order(ByteOrder.nativeOrder());
        change.putInt(0, 10).putFloat(16, 0.5f).putFloat(28, 0.25f);
        try (LoadedKernels kernels = engine.load(engine.create(descriptor));
                OpenClBuffer out = engine.buffer(4 * Float.BYTES)) {
            MemorySegment number = MemorySegment.ofArray(new short[] {-3});
            kernels.launch("change", Geometry.of(1), out, number, vector, change);
            float[] result = new float[4];
            out.read(result);
            assertArrayEquals(new float[] {-29.5f, -60, -90, -119.75f}, result);
        }
    }

    @Test
    @Tag("exhaustive") // it lasts as long as the limit
    @DisplayName("closing takes binaries for at most 5 s and one of them: the others are not"
            + " stored")
    void slowClose() throws Exception {
        SpyBinding slow = new SpyBinding() {
            @Override
            ProgramCalls programs() {
                return new Programs() {
                    @Override
                    public MemorySegment programBinary(long program, long device) {
                        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(3));
                        return super.programBinary(program, device);
                    }
                };
            }
        };
        List<KernelProgram> programs = new ArrayList<>();
        try (OpenClEngine closing = OpenClEngine.open(PoclDevice.get(), slow.binding())) {
            for (int i = 0; i < 4; i++) {
                programs.add(closing.create(SampleKernels.builder(closing.target())
                        .options("-DFACTOR=" + i)
                        .build()));
                programs.getLast().outliveEngine();
            }
        }
        assertEquals(
                2,
                programs.stream()
                        .filter(each -> !each.getBinaries(BinaryKind.KERNEL).isEmpty())
                        .count());
        assertEquals(Map.of(), slow.alive());
    }

    @Test
    @DisplayName("wrong kind, no, empty or two binaries, the empty id and another target are"
            + " refused before any driver call")
    void refusedBeforeTheDriver() {
        KernelDescriptor descriptor = sample().build();
        KernelDescriptor uncacheable = sample().options("-I/tmp").build();
        KernelBinaries one = KernelBinaries.of(new byte[] {1, 2, 3});
        assertThrows(
                RestoreException.class, () -> engine.create(descriptor, one, BinaryKind.PRIMITIVE));
        assertThrows(
                RestoreException.class,
                () -> engine.create(descriptor, KernelBinaries.none(), BinaryKind.KERNEL));
        assertThrows(
                RestoreException.class,
                () -> engine.create(descriptor, KernelBinaries.of(new byte[0]), BinaryKind.KERNEL));
        assertThrows(
                RestoreException.class,
                () -> engine.create(
                        descriptor,
                        KernelBinaries.of(new byte[1], new byte[1]),
                        BinaryKind.KERNEL));
        RestoreException empty = assertThrows(
                RestoreException.class, () -> engine.create(uncacheable, one, BinaryKind.KERNEL));
        assertTrue(
                String.valueOf(empty.getMessage()).contains("not cacheable: the option -I/tmp"),
                empty.getMessage());
        KernelDescriptor foreign = SampleKernels.builder(
                        new Target(Backend.OPENCL, "pocl", "d", "v"))
                .build();
        assertThrows(
                IllegalArgumentException.class,
                () -> engine.create(foreign, one, BinaryKind.KERNEL));
        assertThrows(IllegalArgumentException.class, () -> engine.create(foreign));
        assertEquals(0, spy.count("createProgramWithBinary"));
        assertEquals(0, spy.created("program"));
    }

    @Test
    @DisplayName("a primitive whose engine was closed before its binaries were taken runs on the"
            + " next engine")
    void engineClosedEarly() throws Exception {
        KernelProgram primitive;
        try (OpenClEngine first = OpenClEngine.open(PoclDevice.get())) {
            primitive = first.create(sample().build());
        }
        try (LoadedKernels kernels = engine.load(primitive)) {
            SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
        }
    }

    @Test
    @DisplayName("binaries are taken after kernels exist, and are complete exactly after the last"
            + " announced launch")
    void rightMoment() throws Exception {
        KernelProgram primitive =
                engine.create(sample().launch("reverse", SampleKernels.SMALL_GROUPS)
                        .launch("shift", SampleKernels.SMALL_GROUPS)
                        .build());
        AtomicInteger complete = new AtomicInteger();
        primitive.onBinariesComplete(() -> {
            complete.incrementAndGet();
            primitive.getBinaries(BinaryKind.KERNEL);
        });
        try (LoadedKernels kernels = engine.load(primitive)) {
            SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
            SampleKernels.checkReverse(engine, kernels, SampleKernels.LARGE_GROUPS);
            assertEquals(0, complete.get());
            SampleKernels.shift(engine, kernels);
            assertEquals(1, complete.get());
            SampleKernels.shift(engine, kernels);
            assertEquals(1, complete.get());
        }
        List<String> calls = spy.calls;
        assertTrue(
                calls.indexOf("createKernel") < calls.indexOf("programBinary"), calls.toString());
        assertEquals(
                3,
                calls.subList(0, calls.indexOf("programBinary")).stream()
                        .filter("launch"::equals)
                        .count());
        assertEquals(
                "[reverse@256/16, reverse@256/64, shift@256/16]",
                primitive.geometries().toString());
    }

    @Test
    @DisplayName("if the build log reports that the driver recompiled, the origin is RECOMPILED and"
            + " the binaries are taken anew")
    void recompiled() throws Exception {
        KernelProgram compiled = engine.create(sample().build());
        SpyBinding recompiling = new SpyBinding() {
            @Override
            ProgramCalls programs() {
                return new Programs() {
                    @Override
                    public String buildLog(long program, long device) {
                        return "warning: [-Wrecompiled-from-ir] device code did not fit";
                    }
                };
            }
        };
        try (OpenClEngine other = OpenClEngine.open(engine.device(), recompiling.binding())) {
            KernelProgram again = other.create(
                    compiled.descriptor(),
                    compiled.getBinaries(BinaryKind.KERNEL),
                    BinaryKind.KERNEL);
            assertEquals(Primitive.Origin.RECOMPILED, again.origin());
            AtomicInteger complete = new AtomicInteger();
            again.onBinariesComplete(complete::incrementAndGet);
            assertEquals(1, complete.get());
            assertFalse(again.getBinaries(BinaryKind.KERNEL).isEmpty());
            assertEquals(1, recompiling.count("programBinary"));
        }
    }

    @Test
    @DisplayName("if the driver provides no binary, there is none, and the primitive still loads"
            + " any number of times")
    void noBinaries() throws Exception {
        ProgramCalls mute = new ProgramCalls() {
            @Override
            public MemorySegment programBinary(long program, long device) {
                return MemorySegment.ofArray(new byte[0]);
            }
        };
        try (OpenClEngine other = OpenClEngine.open(engine.device(), SpyBinding.with(mute))) {
            KernelProgram primitive = other.create(sample().build());
            for (int i = 0; i < 3; i++) {
                try (LoadedKernels kernels = other.load(primitive)) {
                    SampleKernels.checkReverse(other, kernels, SampleKernels.SMALL_GROUPS);
                }
                assertTrue(primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
            }
        }
    }

    @Test
    @DisplayName("if the driver refuses verified bytes, the exception has the reason, and nothing"
            + " is retained")
    void driverRefuses() throws Exception {
        ProgramCalls refusing = new ProgramCalls() {
            @Override
            public long createProgramWithBinary(long context, long device, MemorySegment binary) {
                throw new DriverException(
                        "clCreateProgramWithBinary failed with -42 (CL_INVALID_BINARY)", -42);
            }
        };
        try (OpenClEngine other = OpenClEngine.open(engine.device(), SpyBinding.with(refusing))) {
            RestoreException refused = assertThrows(
                    RestoreException.class,
                    () -> other.create(
                            sample().build(),
                            KernelBinaries.of(new byte[] {1}),
                            BinaryKind.KERNEL));
            assertTrue(
                    String.valueOf(refused.getMessage()).contains("-42 (CL_INVALID_BINARY)"),
                    refused.getMessage());
        }
    }
}
