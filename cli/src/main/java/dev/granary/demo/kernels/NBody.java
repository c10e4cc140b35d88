package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Bodies that attract each other, two steps of the leapfrog scheme over all pairs (Nyland, Harris,
 * Prins, "Fast N-Body Simulation with CUDA").
 */
final class NBody {
    private static final int COUNT = 201;
    private static final int GROUP = 64;
    private static final int STEPS = 2;
    private static final float SOFTENING = 0.1f;
    private static final float TIME_STEP = 0.01f;
    private static final Geometry BODIES = Geometry.of(256).local(GROUP);

    private NBody() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("n-body", "n_body.cl")
                .with("-D GROUP=" + GROUP)
                .launching("accelerate", BODIES)
                .launching("move", BODIES)
                .checkedBy(NBody::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] bodies = SyntheticData.floats(random, 4 * COUNT, -1, 1);
        for (int i = 3; i < bodies.length; i += 4) {
            bodies[i] = random.nextFloat(0.1f, 1); // a mass
        }
        float[] velocities = SyntheticData.floats(random, 4 * COUNT, -1, 1);
        DeviceBuffer places = harness.input(bodies);
        DeviceBuffer speeds = harness.input(velocities);
        DeviceBuffer accelerations = harness.floats(4 * COUNT);
        double[] expectedBodies = widened(bodies);
        double[] expectedVelocities = widened(velocities);
        double[] expectedAccelerations = new double[4 * COUNT];
        for (int step = 0; step < STEPS; step++) {
            harness.launch("accelerate", places, accelerations, COUNT, SOFTENING);
            harness.launch("move", places, speeds, accelerations, COUNT, TIME_STEP);
            accelerate(expectedBodies, expectedAccelerations);
            move(expectedBodies, expectedVelocities, expectedAccelerations);
        }
        return new ResultComparison()
                .floats(
                        "acceleration",
                        expectedAccelerations,
                        KernelHarness.floatsOf(accelerations),
                        new Tolerance(5e-6, 4e-4))
                .floats(
                        "velocity",
                        expectedVelocities,
                        KernelHarness.floatsOf(speeds),
                        new Tolerance(1e-6, 5e-6))
                .floats(
                        "body",
                        expectedBodies,
                        KernelHarness.floatsOf(places),
                        new Tolerance(1e-6, 1e-6))
                .result();
    }

    private static void accelerate(double[] bodies, double[] accelerations) {
        for (int i = 0; i < COUNT; i++) {
            double[] sum = new double[3];
            for (int j = 0; j < COUNT; j++) {
                double square = (double) SOFTENING * SOFTENING;
                for (int axis = 0; axis < 3; axis++) {
                    double away = bodies[4 * j + axis] - bodies[4 * i + axis];
                    square += away * away;
                }
                double pull = bodies[4 * j + 3] / (square * Math.sqrt(square));
                for (int axis = 0; axis < 3; axis++) {
                    sum[axis] += pull * (bodies[4 * j + axis] - bodies[4 * i + axis]);
                }
            }
            System.arraycopy(sum, 0, accelerations, 4 * i, 3);
        }
    }

    private static void move(double[] bodies, double[] velocities, double[] accelerations) {
        for (int i = 0; i < bodies.length; i++) {
            velocities[i] += TIME_STEP * accelerations[i];
            if (i % 4 != 3) { // masses do not change
                bodies[i] += TIME_STEP * velocities[i];
            }
        }
    }

    private static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
