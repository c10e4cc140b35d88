package dev.granary.demo.kernels;

import java.util.List;
import java.util.stream.Stream;

/** All kernels of the demo: programs in OpenCL C, and kernels that are emitted from plans. */
public final class DemoKernels {
    private static final List<DemoKernel> PROGRAMS = List.of(
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
    private static final List<DemoKernel> PLANS = List.of(
            MatrixMultiplyPlans.naive(),
            MatrixMultiplyPlans.tiled(),
            MatrixMultiplyPlans.cached(),
            MatrixMultiplyPlans.doubleBuffered(),
            ConvolutionPlan.kernel());

    private DemoKernels() {}

    /** Returns all kernels: the programs, then the plans. */
    public static List<DemoKernel> all() {
        return Stream.concat(PROGRAMS.stream(), PLANS.stream()).toList();
    }

    /** Returns some kernels that compile in a fifth of the time of all. */
    public static List<DemoKernel> quick() {
        return List.of(
                VectorArithmetic.add(),
                VectorArithmetic.saxpy(),
                Transpose.kernel(),
                PackedMatrixMultiply.packing(),
                PackedMatrixMultiply.linear(),
                PackedMatrixMultiply.relu(),
                MatrixMultiplyPlans.tiled());
    }

    /** Returns the programs, simple ones first. */
    public static List<DemoKernel> programs() {
        return PROGRAMS;
    }

    /** Returns the kernels of plans. */
    public static List<DemoKernel> plans() {
        return PLANS;
    }
}
