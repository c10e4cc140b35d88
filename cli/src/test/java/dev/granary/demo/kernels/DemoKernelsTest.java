package dev.granary.demo.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.util.stream.Collectors.toSet;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.opencl.OpenClPrimitive;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** Tests of the demo's kernels as a set, and of each on every OpenCL device of this machine. */
class DemoKernelsTest {
    private static final Target SOME_POCL = new Target(Backend.OPENCL, "pocl", "cpu", "1");
    private static final int NAME_LIMIT = 18;

    @TestFactory
    @DisplayName("Each kernel compiles, agrees with its reference, and its launches are those it"
            + " declares")
    @Tag("exhaustive")
    Stream<DynamicTest> everyKernelOnEveryDevice() {
        List<OpenClDevice> devices = OpenCl.devices();
        if (devices.isEmpty()) {
            System.out.println("Skipped: no OpenCL device, so no kernel of the demo was compiled");
            Assumptions.abort("no OpenCL device");
        }
        List<DynamicTest> tests = new ArrayList<>();
        for (OpenClDevice device : devices) {
            for (DemoKernel kernel : DemoKernels.all()) {
                tests.add(DynamicTest.dynamicTest(
                        kernel.name() + " on " + device.target().name(),
                        () -> verify(device, kernel)));
            }
        }
        return tests.stream();
    }

    private static void verify(OpenClDevice device, DemoKernel kernel) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            KernelDescriptor descriptor = kernel.descriptor(engine.target());
            OpenClPrimitive primitive = engine.create(descriptor);
            AtomicBoolean complete = new AtomicBoolean();
            primitive.onBinariesComplete(() -> complete.set(true));
            try (OpenClKernels kernels = engine.load(primitive)) {
                assertEquals(
                        new KernelCheckResult.Right(),
                        kernel.verify(engine, kernels, TestSeed.random(kernel.name())));
                assertEquals(
                        new KernelCheckResult.Right(),
                        kernel.verify(engine, kernels, TestSeed.random(kernel.name() + " again")));
            }
            assertTrue(
                    complete.get(),
                    "not all declared launches were made: " + descriptor.launches());
            assertEquals(
                    descriptor.entries(),
                    Set.copyOf(primitive.kernels()),
                    "the kernels of the program");
        }
    }

    @Test
    @DisplayName("At least 16 kernels, with names that are short, unique and plain")
    void names() {
        List<String> names = DemoKernels.all().stream().map(DemoKernel::name).toList();
        assertTrue(names.size() >= 16, names.toString());
        assertEquals(names.size(), Set.copyOf(names).size(), names.toString());
        for (String name : names) {
            assertTrue(name.matches("[a-z0-9]+(-[a-z0-9]+)*") && name.length() <= NAME_LIMIT, name);
        }
    }

    @Test
    @DisplayName("K1 K2 each descriptor is cacheable, the same each time, and different from all"
            + " others, two from one source too")
    void ids() {
        for (DemoKernel kernel : DemoKernels.all()) {
            assertFalse(
                    kernel.descriptor(SOME_POCL).getId().isEmpty(),
                    () -> kernel.descriptor(SOME_POCL).getId().reason());
            assertEquals(
                    kernel.descriptor(SOME_POCL).getId(),
                    kernel.descriptor(SOME_POCL).getId());
        }
        assertEquals(
                DemoKernels.all().size(),
                DemoKernels.all().stream()
                        .map(k -> k.descriptor(SOME_POCL).getId())
                        .collect(toSet())
                        .size());
    }

    @Test
    @DisplayName(
            "The set shows what real programs have: headers, headers of headers, options, several"
                    + " kernels, a long source")
    void variety() {
        List<KernelDescriptor> all = DemoKernels.all().stream()
                .map(kernel -> kernel.descriptor(SOME_POCL))
                .toList();
        assertTrue(
                all.stream()
                                .filter(descriptor -> !descriptor.headers().isEmpty())
                                .count()
                        >= 2,
                "programs with headers");
        assertTrue(
                all.stream().anyMatch(DemoKernelsTest::hasChain), "a header that includes another");
        assertTrue(
                all.stream()
                                .filter(descriptor -> descriptor.options().contains("-D"))
                                .count()
                        >= 2,
                "programs with options");
        assertTrue(
                all.stream()
                                .filter(descriptor -> descriptor.entries().size() > 1)
                                .count()
                        >= 3,
                "programs of several kernels");
        assertTrue(
                all.stream()
                        .anyMatch(descriptor ->
                                descriptor.sources().getFirst().lines().count() >= 400),
                "a long source");
        assertTrue(
                all.stream().allMatch(DemoKernelsTest::declaresEveryKernel),
                "every kernel has its launch");
    }

    private static boolean hasChain(KernelDescriptor descriptor) {
        return descriptor.headers().values().stream()
                .anyMatch(header -> header.contains("#include \""));
    }

    private static boolean declaresEveryKernel(KernelDescriptor descriptor) {
        return descriptor
                        .entries()
                        .equals(descriptor.launches().stream()
                                .map(launch -> launch.kernel())
                                .collect(toSet()))
                && descriptor.launches().stream()
                        .allMatch(launch -> groupSize(launch.geometry().local()) <= 256);
    }

    private static long groupSize(List<Long> local) {
        return local.stream().reduce(1L, (a, b) -> a * b);
    }
}
