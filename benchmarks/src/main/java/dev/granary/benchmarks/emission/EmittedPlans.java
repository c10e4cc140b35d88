package dev.granary.benchmarks.emission;

import dev.granary.gpu.plan.ArrayCache;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.MemoryLocation;
import dev.granary.gpu.plan.ParallelAxis;
import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

import java.util.concurrent.TimeUnit;

/**
 * Benchmark of the emission of kernels in OpenCL C, each from the nest of its plan. Each call
 * creates plan and kernel anew.
 */
@State(Scope.Thread)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class EmittedPlans {
    private static final LoopIndex I = LoopIndex.of("i");
    private static final LoopIndex J = LoopIndex.of("j");
    private static final LoopIndex K = LoopIndex.of("k");

    // not final, so that the JVM cannot treat it as a constant
    private int size = 1024;

    /** Emits the example of Accera's manual: tiles of 32, 64, 128 with a double buffer. */
    @Benchmark
    public String manual() {
        KernelArray a = KernelArray.input("A", ElementType.FLOAT, size, size);
        KernelArray b = KernelArray.input("B", ElementType.FLOAT, size, size);
        KernelArray c = KernelArray.inputOutput("C", ElementType.FLOAT, size, size);
        return product(a, b, c, 32, 64, 128)
                .cache(ArrayCache.of(a).index(I.inner()).doubleBuffered().build())
                .source();
    }

    /** Emits a product of uneven sizes with three caches and two double buffers. */
    @Benchmark
    public String tiled() {
        KernelArray a = KernelArray.input("A", ElementType.FLOAT, size - 1, size - 3);
        KernelArray b = KernelArray.input("B", ElementType.FLOAT, size - 3, size + 1);
        KernelArray c = KernelArray.inputOutput("C", ElementType.FLOAT, size - 1, size + 1);
        return product(a, b, c, 16, 16, 8)
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(I.inner(), ParallelAxis.ITEM_Y)
                .bind(J.inner(), ParallelAxis.ITEM_X)
                .cache(local(a))
                .cache(local(b))
                .cache(ArrayCache.of(c)
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build())
                .source();
    }

    private static ArrayCache local(KernelArray factor) {
        return ArrayCache.of(factor)
                .index(I.inner())
                .location(MemoryLocation.LOCAL)
                .doubleBuffered()
                .build();
    }

    private static KernelPlan product(
            KernelArray a, KernelArray b, KernelArray c, int m, int n, int k) {
        return KernelPlan.of(LoopNest.named("gemm")
                .loop(I, c.shape().get(0))
                .loop(J, c.shape().get(1))
                .loop(K, a.shape().get(1))
                .logic(c.at(I, J).add(a.at(I, K).times(b.at(K, J))))
                .schedule()
                .tile(I.by(m), J.by(n), K.by(k))
                .reorder(I, J, K, I.inner(), J.inner(), K.inner()));
    }
}
