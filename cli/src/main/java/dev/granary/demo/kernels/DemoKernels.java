package dev.granary.demo.kernels;

import java.util.List;

/** All kernels of the demo. */
public final class DemoKernels {
    private static final List<DemoKernel> ALL = List.of(
            VectorArithmetic.add(),
            VectorArithmetic.saxpy(),
            DotProduct.kernel(),
            Reduction.kernel(),
            PrefixScan.kernel(),
            Transpose.kernel(),
            MatrixMultiply.kernel(8),
            MatrixMultiply.kernel(16),
            PackedMatrixMultiply.packing(),
            PackedMatrixMultiply.linear(),
            PackedMatrixMultiply.relu(),
            SparseMultiply.kernel(),
            Convolution.kernel(),
            Softmax.kernel(),
            LayerNorm.kernel(),
            BitonicSort.kernel(),
            Histogram.kernel(),
            Sha256Messages.kernel(),
            ChaCha20.kernel(),
            Aes256Counter.kernel(),
            Mandelbrot.kernel(),
            NBody.kernel(),
            BlackScholes.kernel(),
            LatticeBoltzmann.kernel());

    private DemoKernels() {}

    /** Returns all kernels, simple ones first. */
    public static List<DemoKernel> all() {
        return ALL;
    }
}
