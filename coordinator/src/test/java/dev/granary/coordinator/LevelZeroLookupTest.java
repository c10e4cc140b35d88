package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.levelzero.NeedsTestDriver;
import dev.granary.gpu.levelzero.TestDriver;
import dev.granary.gpu.levelzero.VectorPrograms;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

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
            LookupResult<KernelProgram> result = granary.lookup(engine, descriptor);
            assertEquals(
                    PrimitiveSource.MEMORY, granary.lookup(engine, descriptor).source());
            try (LoadedKernels kernels = engine.load(result.primitive());
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
    @DisplayName("a program of Level Zero is compiled once, then restored from the local tier")
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
    @DisplayName("a driver of another version has a namespace of its own")
    void otherDriver() throws Exception {
        assertEquals(PrimitiveSource.COMPILED, lookup(LevelZero.devices().getFirst(), 2));
        driver.set("GRANARY_ZE_DRIVER_VERSION", "0x01020004");
        assertEquals(PrimitiveSource.COMPILED, lookup(LevelZero.devices().getFirst(), 2));
        assertEquals(PrimitiveSource.LOCAL, lookup(LevelZero.devices().getFirst(), 2));
        driver.set("GRANARY_ZE_DRIVER_VERSION", "");
        assertEquals(PrimitiveSource.LOCAL, lookup(LevelZero.devices().getFirst(), 2));
    }

    @Test
    @DisplayName("an entry of OpenCL, for the same device and build of the driver, is restored,"
            + " and stored in the own namespace in the driver's format")
    void crossNamespace() throws Exception {
        LevelZeroDevice device = LevelZero.devices().getFirst();
        Target own = device.target();
        Target openCl = new Target(Backend.OPENCL, own.vendor(), own.device(), "22.43.3.7");
        List<Target> others = List.of(
                new Target(Backend.OPENCL, own.vendor(), own.device(), "22.43.4"),
                new Target(Backend.OPENCL, own.vendor(), own.device(), "22.3"),
                new Target(Backend.OPENCL, "another", own.device(), "22.43.3"),
                new Target(Backend.OPENCL, own.vendor(), "another", "22.43.3"),
                own);
        assertEquals(List.of(), device.readableTargets());
        assertEquals(List.of(), device.reading(others).readableTargets());
        LevelZeroDevice reading =
                device.reading(Stream.concat(others.stream(), Stream.of(openCl)).toList());
        assertEquals(List.of(openCl), reading.readableTargets());
        KernelDescriptor descriptor = VectorPrograms.vectors(own, 2).build();
        try (LevelZeroEngine engine = LevelZeroEngine.open(device, VectorPrograms.COMPILER);
                LocalTier local = LocalTier.open(
                        LocalTierConfig.builder(directory.resolve("local")).build())) {
            assertThat(local.store(TestEntries.entry(
                            descriptor.getId().withTarget(openCl),
                            engine.create(descriptor).getBinaries(BinaryKind.KERNEL))))
                    .isStored();
            assertThrows(
                    RestoreException.class,
                    () -> engine.create(descriptor, KernelBinaries.of(new byte[9]), openCl),
                    "it was opened without that target");
        }
        long compiled = driver.calls("spirv");
        long binaries = driver.calls("zeModuleGetNativeBinary");
        assertEquals(PrimitiveSource.LOCAL, lookup(reading, 2));
        assertTrue(driver.calls("zeModuleGetNativeBinary") > binaries, "the driver's own format");
        assertEquals(PrimitiveSource.LOCAL, lookup(device, 2), "in the own namespace");
        assertEquals(0, driver.calls("spirv") - compiled);
    }

    @Test
    @DisplayName("a hit that the driver compiles again is counted and stored anew")
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
                assertEquals(recompiled, granary.statistics().count(Counter.RESTORES_RECOMPILED));
            }
        }
    }
}
