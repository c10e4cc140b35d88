package dev.granary.demo.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClConstants;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Tests of weights that two primitives share, on every OpenCL device of this machine. */
class SharedWeightsTest {
    private static List<OpenClDevice> devices() {
        List<OpenClDevice> devices = OpenCl.devices();
        if (devices.isEmpty()) {
            System.out.println("Skipped: no OpenCL device, so that no weights were packed");
            Assumptions.abort("no OpenCL device");
        }
        return devices;
    }

    @Test
    @DisplayName("M15 a matrix product whose packed weights are prepared once and used by two"
            + " primitives; the results are the reference's")
    void packedOnce() throws Exception {
        for (OpenClDevice device : devices()) {
            try (ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
                    OpenClEngine engine = OpenClEngine.open(device)) {
                assertEquals(new KernelCheckResult.Right(), use(engine, caches));
                assertEquals(1, caches.statistics().made());
                assertEquals(SharedWeights.USES - 1, caches.statistics().reused());
                assertEquals(
                        4L * PackedMatrixMultiply.PACKED, caches.statistics().bytes());
            }
        }
    }

    @Test
    @DisplayName(
            "M15 without space in the cache each use packs its own, and the results are the same")
    void notKept() throws Exception {
        for (OpenClDevice device : devices()) {
            try (ConstantTensorCaches caches = new ConstantTensorCaches(
                            ConstantLimits.parse("cpu:0;gpu:0").limits());
                    OpenClEngine engine = OpenClEngine.open(device)) {
                assertEquals(new KernelCheckResult.Right(), use(engine, caches));
                assertEquals(SharedWeights.USES, caches.statistics().made());
            }
        }
    }

    @Test
    @DisplayName("The check detects wrong weights: another packing gives another result")
    void seesWrongWeights() throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(devices().getFirst());
                OpenClKernels kernels = engine.load(
                        engine.create(PackedMatrixMultiply.LINEAR.descriptor(engine.target())));
                KernelHarness harness = new KernelHarness(
                        engine, kernels, PackedMatrixMultiply.LINEAR.launches())) {
            DeviceBuffer zeros = harness.input(new float[PackedMatrixMultiply.PACKED]);
            float[] weights = PackedMatrixMultiply.weights(TestSeed.random("weights"));
            assertInstanceOf(
                    KernelCheckResult.Wrong.class,
                    PackedMatrixMultiply.multiply(
                            harness,
                            TestSeed.random("inputs"),
                            PackedMatrixMultiply.LINEAR,
                            weights,
                            zeros));
        }
    }

    private static KernelCheckResult use(OpenClEngine engine, ConstantTensorCaches caches)
            throws Exception {
        return SharedWeights.use(
                engine,
                new OpenClConstants(caches, engine),
                descriptor -> engine.load(engine.create(descriptor)),
                TestSeed.random("shared weights"));
    }
}
