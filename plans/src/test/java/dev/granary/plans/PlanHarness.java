package dev.granary.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.nest.KernelArray;
import dev.granary.testing.TestSeed;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;

/**
 * Runs plans on PoCL and compares all memory with the scalar reference. The values are small whole
 * numbers, so that sums are exact in each element type and order.
 */
final class PlanHarness implements AutoCloseable {
    private final OpenClEngine engine = OpenClEngine.open(OpenCl.devices().stream()
            .filter(device -> device.target().vendor().equals(DriverTraits.POCL))
            .findFirst()
            .orElseThrow());

    OpenClEngine engine() {
        return engine;
    }

    /** Checks plans with different names, which are compiled as one program. */
    void check(List<KernelPlan> plans) throws Exception {
        KernelDescriptor.Builder program = KernelDescriptor.builder(engine.target(), "plans");
        for (KernelPlan plan : plans) {
            KernelDescriptor one =
                    plan.descriptor(engine.target(), engine.device().limits());
            one.sources().forEach(program::source);
        }
        try (LoadedKernels kernels = engine.load(engine.create(program.build()))) {
            for (KernelPlan plan : plans) {
                check(kernels, plan);
            }
        }
    }

    void check(KernelPlan plan) throws Exception {
        check(List.of(plan));
    }

    /** Launches a plan, and checks that every element of every array is the reference's. */
    private void check(LoadedKernels kernels, KernelPlan plan) {
        SplittableRandom random = TestSeed.random("values of " + plan.name());
        Map<KernelArray, double[]> expected = new HashMap<>();
        List<GuardedArray> arrays = new ArrayList<>();
        try {
            for (KernelArray array : plan.arguments()) {
                double[] elements = new double[Math.toIntExact(array.layout().span(array.shape()))];
                for (int i = 0; i < elements.length; i++) {
                    elements[i] = random.nextInt(-1, 3); // more positive ones, for products
                }
                arrays.add(new GuardedArray(engine, array, elements));
                expected.put(array, elements);
            }
            NestInterpreter.execute(plan.schedule().nest(), expected);
            kernels.launch(
                    plan.name(),
                    plan.geometry(),
                    arrays.stream().map(GuardedArray::argument).toArray());
            for (int i = 0; i < arrays.size(); i++) {
                compare(plan, plan.arguments().get(i), expected, arrays.get(i).read());
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(e.getMessage() + " in\n" + plan.source(), e);
        } finally {
            arrays.forEach(GuardedArray::close);
        }
    }

    private static void compare(
            KernelPlan plan,
            KernelArray array,
            Map<KernelArray, double[]> expected,
            double[] found) {
        double[] right = Objects.requireNonNull(expected.get(array));
        assertEquals(right.length, found.length);
        for (int i = 0; i < right.length; i++) {
            if (Math.abs(right[i] - found[i]) > 1e-5 * Math.max(1, Math.abs(right[i]))) {
                fail(plan.name() + ": element " + i + " of " + array + " is " + found[i] + ", not "
                        + right[i]);
            }
        }
    }

    @Override
    public void close() {
        engine.close();
    }
}
