package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.levelzero.LevelZeroKernels;
import dev.granary.gpu.levelzero.LevelZeroPrimitive;
import dev.granary.gpu.levelzero.NeedsTestDriver;
import dev.granary.gpu.levelzero.TestDriver;
import dev.granary.gpu.levelzero.VectorPrograms;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;

/** Tests of lookups for a Level Zero engine, through memory and the local tier. */
@NeedsTestDriver
class LevelZeroLookupTest {
    @TempDir
    Path directory;

    private final TestDriver driver = TestDriver.get();

    @AfterEach
    void restoreSettings() {
        driver.set("GRANARY_ZE_DRIVER_VERSION", "");
        assertEquals(0, driver.liveObjects());
        driver.assertNoViolation();
    }

    private Granary open() throws Exception {
        return Granary.open(GranaryConfig.builder()
                .environment(Map.of("HOME", "/nonexistent"))
                .directory(directory.resolve("local"))
                .build());
    }

    /** Looks a program up in a new cache, runs it, and returns its source. */
    private PrimitiveSource lookup(LevelZeroDevice device, int factor) throws Exception {
        KernelDescriptor descriptor =
                VectorPrograms.vectors(device.target(), factor).build();
        float[] numbers = {1, 2, 3, 4};
        try (Granary granary = open();
                LevelZeroEngine engine = LevelZeroEngine.open(device, VectorPrograms.COMPILER)) {
            LookupResult<LevelZeroPrimitive> result = granary.obtain(engine, descriptor);
            assertEquals(
                    PrimitiveSource.MEMORY, granary.obtain(engine, descriptor).source());
            try (LevelZeroKernels kernels = engine.load(result.primitive());
                    DeviceBuffer in = engine.buffer(16);
                    DeviceBuffer out = engine.buffer(16)) {
                in.writeFrom(MemorySegment.ofArray(numbers));
                kernels.launch("scale", Geometry.of(4), in, out, 1f);
                out.readTo(MemorySegment.ofArray(numbers));
            }
            assertArrayEquals(new float[] {factor, 2 * factor, 3 * factor, 4 * factor}, numbers);
            return result.source();
        }
    }

    @Test
    @DisplayName("N1 a program of Level Zero is compiled once, then restored from the local tier")
    void localHit() throws Exception {
        LevelZeroDevice device = LevelZero.devices().getFirst();
        long compiled = driver.calls("spirv");
        assertEquals(PrimitiveSource.COMPILED, lookup(device, 2));
        assertEquals(PrimitiveSource.LOCAL, lookup(device, 2));
        assertEquals(1, driver.calls("spirv") - compiled);
        assertEquals(PrimitiveSource.COMPILED, lookup(device, 3));
        assertTrue(device.target().path().startsWith("level-zero/"));
    }

    @Test
    @DisplayName("N3 a driver of another version has a namespace of its own")
    void otherDriver() throws Exception {
        assertEquals(PrimitiveSource.COMPILED, lookup(LevelZero.devices().getFirst(), 2));
        driver.set("GRANARY_ZE_DRIVER_VERSION", "0x01020004");
        assertEquals(PrimitiveSource.COMPILED, lookup(LevelZero.devices().getFirst(), 2));
        assertEquals(PrimitiveSource.LOCAL, lookup(LevelZero.devices().getFirst(), 2));
        driver.set("GRANARY_ZE_DRIVER_VERSION", "");
        assertEquals(PrimitiveSource.LOCAL, lookup(LevelZero.devices().getFirst(), 2));
    }

    @Test
    @DisplayName("N8 a hit that the driver compiles again is counted and stored anew")
    void recompiled() throws Exception {
        LevelZeroDevice device = LevelZero.devices().getFirst();
        assertEquals(PrimitiveSource.COMPILED, lookup(device, 2));
        // the device keeps its target: a driver that changed below it
        driver.set("GRANARY_ZE_DRIVER_VERSION", "0x01020004");
        KernelDescriptor descriptor = VectorPrograms.vectors(device.target(), 2).build();
        for (long recompiled = 1; recompiled >= 0; recompiled--) {
            try (Granary granary = open();
                    LevelZeroEngine engine =
                            LevelZeroEngine.open(device, VectorPrograms.COMPILER)) {
                granary.primitive(engine, descriptor);
                assertEquals(
                        recompiled, granary.statistics().count(LookupCounter.RECOMPILED_BY_DRIVER));
            }
        }
    }
}
