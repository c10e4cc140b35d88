package dev.granary.gpu.levelzero;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Tests of batches: launches in a closed command list. */
@NeedsTestDriver
class LevelZeroBatchTest {
    private static final int COUNT = 64;

    private final TestDriver driver = TestDriver.get();
    private final LevelZeroDevice device = LevelZero.devices().getFirst();

    @AfterEach
    void nothingIsLeft() {
        assertEquals(0, driver.liveObjects());
        driver.assertNoViolation();
    }

    private LevelZeroEngine open() {
        return LevelZeroEngine.open(device, VectorPrograms.COMPILER);
    }

    private KernelDescriptor vectors() {
        return VectorPrograms.vectors(device.target(), 1).build();
    }

    @Test
    @DisplayName("A batch runs its launches in order, as often as demanded, on present content")
    void batch() throws Exception {
        try (LevelZeroEngine engine = open();
                LevelZeroEngine other = open()) {
            LevelZeroPrimitive primitive = engine.create(vectors());
            LevelZeroBuffer buffer = engine.buffer(COUNT * Float.BYTES);
            LevelZeroBuffer kept = buffer.slice(0, COUNT * Float.BYTES);
            LevelZeroBatch batch = engine.batch();
            float[] content = new float[COUNT];
            Arrays.fill(content, 1);
            try (LevelZeroKernels kernels = engine.load(primitive);
                    LevelZeroKernels foreign = other.load(primitive)) {
                batch.launch(kernels, "scale", Geometry.of(COUNT), buffer, buffer, 3f);
                batch.launch(kernels, "add", Geometry.of(COUNT), buffer, buffer, buffer);
                assertThrows(
                        IllegalArgumentException.class,
                        () -> batch.launch(foreign, "add", Geometry.of(COUNT)));
            }
            buffer.writeFrom(MemorySegment.ofArray(content));
            buffer.close(); // the batch and the slice keep its memory
            batch.run();
            batch.run();
            kept.readTo(MemorySegment.ofArray(content));
            float[] expected = new float[COUNT];
            Arrays.fill(expected, 36);
            assertArrayEquals(expected, content);
            try (LevelZeroKernels kernels = engine.load(primitive)) {
                assertThrows(
                        IllegalStateException.class,
                        () -> batch.launch(kernels, "add", Geometry.of(COUNT), kept, kept, kept));
            }
            kept.close();
            batch.close();
            batch.close();
            assertThrows(IllegalStateException.class, batch::run);
        }
    }

    @Test
    @DisplayName("A batch ends with its engine")
    void batchOfClosedEngine() throws Exception {
        LevelZeroEngine engine = open();
        LevelZeroBatch batch = engine.batch();
        LevelZeroBuffer buffer = engine.buffer(COUNT * Float.BYTES);
        try (LevelZeroKernels kernels = engine.load(engine.create(vectors()))) {
            batch.launch(kernels, "scale", Geometry.of(COUNT), buffer, buffer, 3f);
        }
        batch.run();
        engine.close();
        assertEquals(0, driver.liveObjects());
        assertThrows(IllegalStateException.class, batch::run);
        assertThrows(IllegalStateException.class, engine::batch);
        batch.close();
        buffer.close();
    }
}
