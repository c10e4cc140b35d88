package dev.granary.benchmarks.plans;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.KernelPlan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Measure of several kernels for one product: they take turns, so that all are measured in the same
 * state of the machine. Results are compared with the first kernel's before they are measured.
 */
final class ProductTurns implements AutoCloseable {
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MAX_LAUNCHES = 500;
    private static final int MAX_VALUE = 4;

    private final OpenClEngine engine;
    private final ProductPlans shape;
    private final OpenClBuffer a;
    private final OpenClBuffer b;
    private final OpenClBuffer c;
    private final float[] zeros;
    private final List<Turn> turns = new ArrayList<>();
    private final List<Runnable> closers = new ArrayList<>();

    /** A kernel with the number of its launches in one sample. */
    private record Turn(String name, Runnable launch, int launches) {}

    ProductTurns(OpenClEngine engine, ProductPlans shape, long seed) {
        this.engine = engine;
        this.shape = shape;
        SplittableRandom random = new SplittableRandom(seed);
        this.a = engine.bufferOf(numbers(random, shape.m() * shape.k()));
        this.b = engine.bufferOf(numbers(random, shape.k() * shape.n()));
        this.zeros = new float[shape.m() * shape.n()];
        this.c = engine.bufferOf(zeros);
    }

    /** Returns small whole numbers, so that sums are exact in any order. */
    private static float[] numbers(SplittableRandom random, int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = random.nextInt(-MAX_VALUE, MAX_VALUE + 1);
        }
        return numbers;
    }

    /** Adds the kernel of a plan. */
    void add(String name, KernelPlan plan) throws Exception {
        LoadedKernels kernels = engine.load(
                engine.create(plan.descriptor(engine.target(), engine.device().limits())));
        closers.add(kernels::close);
        Geometry geometry = plan.geometry();
        add(name, () -> kernels.launch(plan.name(), geometry, a, b, c));
    }

    private void add(String name, Runnable launch) {
        float[] result = result(launch);
        if (!turns.isEmpty() && !Arrays.equals(result, result(turns.getFirst().launch()))) {
            throw new IllegalStateException(name + " computes wrong results for " + shape);
        }
        long start = System.nanoTime();
        launch.run();
        long nanos = Math.max(1, System.nanoTime() - start);
        turns.add(new Turn(name, launch, Math.clamp(SAMPLE_NANOS / nanos, 1, MAX_LAUNCHES)));
    }

    private float[] result(Runnable launch) {
        c.write(zeros);
        launch.run();
        float[] result = new float[zeros.length];
        c.read(result);
        return result;
    }

    /** Returns the times of a launch in nanoseconds by kernel, a position for each round. */
    SequencedMap<String, double[]> measure(int rounds) {
        SequencedMap<String, double[]> times = new LinkedHashMap<>();
        turns.forEach(turn -> times.put(turn.name(), new double[rounds]));
        for (int round = 0; round < rounds; round++) {
            for (Turn turn : round % 2 == 0 ? turns : turns.reversed()) {
                c.write(zeros);
                long start = System.nanoTime();
                for (int i = 0; i < turn.launches(); i++) {
                    turn.launch().run();
                }
                double nanos = (double) (System.nanoTime() - start) / turn.launches();
                Objects.requireNonNull(times.get(turn.name()))[round] = nanos;
            }
        }
        return times;
    }

    /** Returns the median of the ratios of two kernels in each round. */
    static double ratio(Map<String, double[]> times, String of, String to) {
        double[] one = Objects.requireNonNull(times.get(of));
        double[] other = Objects.requireNonNull(times.get(to));
        double[] ratios = new double[one.length];
        Arrays.setAll(ratios, i -> one[i] / other[i]);
        return median(ratios);
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    @Override
    public void close() {
        closers.forEach(Runnable::run);
        a.close();
        b.close();
        c.close();
    }
}
