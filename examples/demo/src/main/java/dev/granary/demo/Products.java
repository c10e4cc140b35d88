package dev.granary.demo;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.constant.ConstantHold;
import dev.granary.coordinator.Granary;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.Launch;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClConstants;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.PlanTuner;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;

import java.time.Duration;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Products of matrices: tiled, with weights that a program of its own packs into panels beforehand
 * (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"), and by the fastest
 * plan of a small space. No tile divides the sizes.
 */
final class Products {
    private static final int ROWS = 75;
    private static final int COLUMNS = 93;
    private static final int INNER = 61;
    private static final int PANEL = 8;
    private static final int PANELS = (COLUMNS + PANEL - 1) / PANEL;

    /** The size of packed weights, in bytes. */
    static final int PACKED_BYTES = 4 * PANELS * INNER * PANEL;

    /** Number of uses of the shared weights. */
    static final int WEIGHT_USES = 4;

    /** The BLAS routine gemm by tiles in local memory. */
    static final Program GEMM = Program.of(
            "gemm-16",
            "gemm",
            "-D TILE=16",
            Products::gemm,
            new Launch("gemm", Geometry.of(96, 80).local(16, 16)));

    /** The program that packs weights. */
    static final Program PACK = Program.of(
            "pack-weights",
            "pack_weights",
            "-D PANEL=" + PANEL,
            Products::checkPacking,
            new Launch("pack_weights", Geometry.of(64, PANELS).local(16, 4)));

    /** A layer of a neural network: inputs times packed weights, plus bias. */
    static final Program LINEAR = layer("packed-gemm", "", false);

    /** The same layer with the larger of 0 and each result. */
    static final Program RELU = layer("packed-gemm-relu", "-D RELU", true);

    /** The name of the program of a tuned plan. */
    static final String TUNED = "plan-gemm-tuned";

    /** Limits of each device with the full profile of OpenCL 1.2 and work-groups of 256. */
    private static final DeviceLimits LIMITS =
            new DeviceLimits(32 << 10, 64 << 10, 256, List.of(256L, 256L, 64L), 1);

    private static final LoopIndex I = LoopIndex.of("i");
    private static final LoopIndex J = LoopIndex.of("j");
    private static final LoopIndex K = LoopIndex.of("k");
    private static final KernelArray C =
            KernelArray.inputOutput("C", ElementType.FLOAT, ROWS, COLUMNS);
    private static final LoopNest NEST = LoopNest.named("gemm_tuned")
            .loop(I, ROWS)
            .loop(J, COLUMNS)
            .loop(K, INNER)
            .logic(C.at(I, J)
                    .add(KernelArray.input("A", ElementType.FLOAT, ROWS, INNER)
                            .at(I, K)
                            .times(KernelArray.input("B", ElementType.FLOAT, INNER, COLUMNS)
                                    .at(K, J))));

    /** The plans of {@code C += A B} among which the tuner chooses. */
    static final PlanSpace SPACE = PlanSpace.of(NEST)
            .parameter("rows", 2, 4, 8)
            .parameter("lanes", 4, 8)
            .parameter("items", 1, 4, 16)
            .plans(Products::plan);

    private Products() {}

    /** Returns a tuner for the device of an engine, which stays open. */
    static PlanTuner tuner(KernelEngine engine) {
        return PlanTuner.of(engine, LIMITS, TuningSettings.of(Duration.ofMillis(1_500), 1));
    }

    /** Returns the program of a plan of the space. */
    static Program tuned(KernelPlan plan) {
        return new Program(
                TUNED,
                target -> plan.describe(target, LIMITS),
                run -> {
                    float[] a = inputs(run);
                    float[] b = weights(run.random());
                    float[] c = run.floats(ROWS * COLUMNS, -1, 1);
                    DeviceBuffer result = run.input(c);
                    run.launch(plan.name(), a, b, result);
                    run.expect(result, 1e-6, 2e-5, i -> product(a, b, i) + c[i]);
                },
                List.of(new Launch(plan.name(), plan.geometry())));
    }

    /** A work-item computes some rows of one vector, with the sums in private memory. */
    private static KernelPlan plan(PlanParameters values) {
        LoopIndex row = LoopIndex.of("row");
        LoopIndex lane = LoopIndex.of("lane");
        int lanes = values.number("lanes");
        return KernelPlan.of(NEST.schedule()
                        .split(I, values.number("rows"), row)
                        .split(J, lanes * values.number("items"))
                        .split(J.inner(), lanes, lane)
                        .reorder(I, J, J.inner(), K, row, lane)
                        .unroll(row)
                        .vectorize(lane))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(J.inner(), ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(C)
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }

    private static Program layer(String name, String options, boolean isRelu) {
        return Program.of(
                name,
                "packed_gemm",
                options,
                run -> {
                    float[] weights = weights(run.random());
                    checkLayer(run, isRelu, weights, run.input(packed(weights)));
                },
                new Launch("packed_gemm", Geometry.of(PANELS, 80).local(4, 16)));
    }

    /** Launches a layer on synthetic inputs, with weights that are packed already. */
    static void checkLayer(ProgramRun run, boolean isRelu, float[] weights, DeviceBuffer packed) {
        float[] inputs = inputs(run);
        float[] bias = run.floats(COLUMNS, -1, 1);
        DeviceBuffer result = run.output(4 * ROWS * COLUMNS);
        run.launch("packed_gemm", ROWS, COLUMNS, INNER, inputs, packed, bias, result);
        run.expect(result, 1e-6, 2e-5, i -> {
            double sum = product(inputs, weights, i) + bias[i % COLUMNS];
            return isRelu ? Math.max(sum, 0) : sum;
        });
    }

    /**
     * Runs both layers in turn with the same constant weights: the first use packs them, the others
     * find them in the constant tensor cache. Returns the first wrong result; empty if all are
     * right.
     */
    static String shareWeights(Granary granary, OpenClEngine engine, RandomGenerator random)
            throws CompileException, RestoreException {
        OpenClConstants constants = new OpenClConstants(granary.constants(), engine);
        float[] weights = weights(random);
        String difference = "";
        for (int use = 0; use < WEIGHT_USES && difference.isEmpty(); use++) {
            boolean isRelu = use % 2 == 1;
            Program layer = isRelu ? RELU : LINEAR;
            try (LoadedKernels packing = load(granary, engine, PACK);
                    LoadedKernels kernels = load(granary, engine, layer);
                    ProgramRun run = new ProgramRun(engine, kernels, layer.launches(), random);
                    ConstantHold<OpenClBuffer> packed = constants.get(
                            "packed weights", PACKED_BYTES, () -> pack(engine, packing, weights))) {
                checkLayer(run, isRelu, weights, packed.buffer());
                difference = run.difference();
            }
        }
        return difference;
    }

    private static LoadedKernels load(Granary granary, OpenClEngine engine, Program program)
            throws CompileException, RestoreException {
        return engine.load(granary.primitive(engine, program.descriptor(engine.target(), "")));
    }

    private static OpenClBuffer pack(OpenClEngine engine, LoadedKernels packing, float[] weights) {
        Launch launch = PACK.launches().getFirst();
        OpenClBuffer packed = engine.buffer(PACKED_BYTES);
        try (OpenClBuffer plain = engine.bufferOf(weights)) {
            packing.launch(launch.kernel(), launch.geometry(), COLUMNS, INNER, plain, packed);
        }
        return packed;
    }

    /** Returns weights from -1 to 1. */
    static float[] weights(RandomGenerator random) {
        return ProgramRun.floats(random, INNER * COLUMNS, -1, 1);
    }

    private static float[] inputs(ProgramRun run) {
        return run.floats(ROWS * INNER, -1, 1);
    }

    private static void checkPacking(ProgramRun run) {
        float[] weights = weights(run.random());
        DeviceBuffer packed = run.output(PACKED_BYTES);
        run.launch("pack_weights", COLUMNS, INNER, weights, packed);
        float[] expected = packed(weights);
        run.expect(packed, 0, 0, i -> expected[i]);
    }

    private static float[] packed(float[] weights) {
        float[] packed = new float[PACKED_BYTES / 4];
        for (int i = 0; i < weights.length; i++) {
            int column = i % COLUMNS;
            packed[(column / PANEL * INNER + i / COLUMNS) * PANEL + column % PANEL] = weights[i];
        }
        return packed;
    }

    private static void gemm(ProgramRun run) {
        float alpha = 1.25f;
        float beta = -0.75f;
        float[] a = inputs(run);
        float[] b = weights(run.random());
        float[] c = run.floats(ROWS * COLUMNS, -1, 1);
        DeviceBuffer result = run.input(c);
        run.launch("gemm", ROWS, COLUMNS, INNER, alpha, a, b, beta, result);
        run.expect(result, 1e-6, 2e-5, i -> alpha * product(a, b, i) + beta * c[i]);
    }

    /** Returns element {@code i} of a product. */
    private static double product(float[] a, float[] b, int i) {
        double sum = 0;
        for (int k = 0; k < INNER; k++) {
            sum += (double) a[i / COLUMNS * INNER + k] * b[k * COLUMNS + i % COLUMNS];
        }
        return sum;
    }
}
