package dev.granary.gpu.levelzero;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.levelzero.binding.ContextCalls;
import dev.granary.gpu.levelzero.binding.GroupShape;
import dev.granary.gpu.levelzero.binding.KernelCalls;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Tests of modules that the application launches itself, and of engines in its context. */
@NeedsTestDriver
class LevelZeroModuleTest {
    private static final int COUNT = 64;

    private final TestDriver driver = TestDriver.get();
    private final LevelZeroDevice device = LevelZero.devices().getFirst();
    private final ContextCalls contexts = new ContextCalls(device.binding());
    private final KernelCalls kernels = new KernelCalls(device.binding());

    @AfterEach
    void nothingIsLeft() {
        driver.fail("");
        assertEquals(0, driver.liveObjects());
        driver.assertNoViolation();
    }

    private LevelZeroEngine wrap(long context) {
        return LevelZeroEngine.wrap(
                device.driver(), context, device.handle(), VectorPrograms.COMPILER);
    }

    private KernelDescriptor vectors() {
        return VectorPrograms.vectors(device.target(), 1).build();
    }

    /** Launches {@code scale} by calls of the driver alone; returns the last of the results. */
    private float scaled(long context, long module) {
        long at = device.handle();
        try (Arena arena = Arena.ofConfined()) {
            long list = contexts.createImmediate(context, at, device.computeQueueGroup());
            long memory = contexts.allocate(context, at, COUNT * Float.BYTES);
            long kernel = kernels.create(module, "scale");
            float[] content = new float[COUNT];
            content[COUNT - 1] = 3;
            MemorySegment host = arena.allocateFrom(ValueLayout.JAVA_FLOAT, content);
            MemorySegment buffer = arena.allocateFrom(ValueLayout.JAVA_LONG, memory);
            MemorySegment factor = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 2);
            kernels.setArgument(kernel, 0, Long.BYTES, buffer.address());
            kernels.setArgument(kernel, 1, Long.BYTES, buffer.address());
            kernels.setArgument(kernel, 2, Float.BYTES, factor.address());
            kernels.setGroupSize(kernel, new GroupShape(16, 1, 1));
            GroupShape groups = new GroupShape(COUNT / 16, 1, 1);
            contexts.appendCopy(list, memory, host.address(), host.byteSize());
            contexts.appendLaunch(list, kernel, groups);
            contexts.appendCopy(list, host.address(), memory, host.byteSize());
            kernels.destroy(kernel);
            contexts.free(context, memory);
            contexts.destroyList(list);
            return host.getAtIndex(ValueLayout.JAVA_FLOAT, COUNT - 1);
        }
    }

    @Test
    @DisplayName("A compiled and a restored module run in kernels of the application, in a context"
            + " of its own, which the engine leaves")
    void launches() throws Exception {
        long context = contexts.create(device.driver());
        try (LevelZeroEngine engine = wrap(context)) {
            assertEquals(device.target(), engine.target());
            KernelProgram compiled = engine.create(vectors());
            KernelProgram restored = engine.create(
                    vectors(), compiled.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            for (KernelProgram primitive : List.of(compiled, restored)) {
                try (LevelZeroModule module = engine.module(primitive)) {
                    assertTrue(module.kernels().containsAll(List.of("add", "scale")));
                    assertEquals(6, scaled(context, module.handle()));
                }
            }
            try (LoadedKernels loaded = engine.load(restored);
                    LevelZeroBuffer buffer = engine.buffer(COUNT * Float.BYTES)) {
                loaded.launch("scale", Geometry.of(COUNT), buffer, buffer, 2f);
            }
        }
        assertEquals(1, driver.liveObjects(), "only the application's context");
        contexts.destroy(context);
    }

    @Test
    @DisplayName("A closed module gives no handle, while another one of its primitive does")
    void closed() throws Exception {
        LevelZeroEngine engine = LevelZeroEngine.open(device, VectorPrograms.COMPILER);
        KernelProgram primitive = engine.create(vectors());
        LevelZeroModule one = engine.module(primitive);
        LevelZeroModule other = engine.module(primitive);
        assertEquals(one.handle(), other.handle());
        one.close();
        one.close();
        assertThrows(IllegalStateException.class, one::handle);
        assertTrue(other.handle() != 0);
        engine.close();
        assertThrows(IllegalStateException.class, other::handle);
        other.close();
        assertThrows(IllegalStateException.class, () -> engine.module(primitive));
    }

    @Test
    @DisplayName("A refused binary is compiled again for a module; the exception has the build log"
            + " if that fails too")
    void refused() throws Exception {
        KernelProgram primitive;
        try (LevelZeroEngine engine = LevelZeroEngine.open(device, VectorPrograms.COMPILER)) {
            primitive = engine.create(vectors());
        }
        driver.fail("zeModuleCreate=0x7800000f*2");
        try (LevelZeroEngine engine = LevelZeroEngine.open(device, VectorPrograms.COMPILER)) {
            assertThrows(CompileException.class, () -> engine.module(primitive));
            try (LevelZeroModule module = engine.module(primitive)) {
                assertFalse(module.kernels().isEmpty());
            }
        }
    }

    @Test
    @DisplayName("Handles that are missing, or of no known device, are refused")
    void wrongHandles() {
        long context = contexts.create(device.driver());
        assertThrows(IllegalArgumentException.class, () -> wrap(0));
        for (long[] wrong : new long[][] {
            {device.handle(), device.driver()},
            {device.driver(), 0},
            {0, device.handle()},
        }) {
            String message = String.valueOf(assertThrows(
                            IllegalArgumentException.class,
                            () -> LevelZeroEngine.wrap(
                                    wrong[0], context, wrong[1], VectorPrograms.COMPILER))
                    .getMessage());
            assertTrue(message.contains("LevelZero.devices()"), message);
        }
        contexts.destroy(context);
    }
}
