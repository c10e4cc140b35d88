package dev.granary.demo.kernels;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.constant.ConstantHold;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClConstants;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;

import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Two primitives that multiply by the same weights, which a third packs once for the constant
 * tensor cache. Each product is computed for several inputs: the first use packs the weights, and
 * the others find them.
 */
public final class SharedWeights {
    /** Number of requests for the packed weights. */
    public static final int USES = 4;

    private static final long BYTES = (long) PackedMatrixMultiply.PACKED * Float.BYTES;

    private SharedWeights() {}

    /** The key of the packed weights: their name and their layout. */
    private record Key(String weights, KernelRecipe layout) {}

    /** Loader of the kernels of a program. */
    public interface Loader {
        /** Returns loaded kernels, which the caller closes. */
        OpenClKernels load(KernelDescriptor descriptor) throws CompileException, RestoreException;
    }

    /**
     * Runs both products, twice each, and compares them with their reference in Java.
     *
     * @throws dev.granary.gpu.opencl.OpenClException if the driver refuses a launch or a buffer
     */
    public static KernelCheckResult use(
            OpenClEngine engine, OpenClConstants constants, Loader loader, RandomGenerator random)
            throws CompileException, RestoreException {
        float[] weights = PackedMatrixMultiply.weights(random);
        Key key = new Key("weights of the demo", PackedMatrixMultiply.PACK);
        KernelCheckResult result = new KernelCheckResult.Right();
        for (int use = 0; use < USES && result instanceof KernelCheckResult.Right; use++) {
            KernelRecipe product = List.of(PackedMatrixMultiply.LINEAR, PackedMatrixMultiply.RELU)
                    .get(use % 2);
            try (OpenClKernels kernels = loader.load(product.descriptor(engine.target()));
                    ConstantHold<OpenClBuffer> packed =
                            constants.get(key, BYTES, () -> pack(engine, loader, weights));
                    KernelHarness harness =
                            new KernelHarness(engine, kernels, product.launches())) {
                result = PackedMatrixMultiply.multiply(
                        harness, random, product, weights, packed.buffer());
            }
        }
        return result;
    }

    private static OpenClBuffer pack(OpenClEngine engine, Loader loader, float[] weights)
            throws RestoreException {
        KernelRecipe packing = PackedMatrixMultiply.PACK;
        try (OpenClKernels kernels = loader.load(packing.descriptor(engine.target()));
                KernelHarness harness = new KernelHarness(engine, kernels, packing.launches())) {
            OpenClBuffer packed = engine.buffer(BYTES);
            PackedMatrixMultiply.pack(harness, weights, packed);
            return packed;
        } catch (CompileException e) {
            throw new RestoreException(String.valueOf(e.getMessage()));
        }
    }
}
