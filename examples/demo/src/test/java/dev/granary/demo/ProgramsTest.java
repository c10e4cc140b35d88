package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.util.stream.Collectors.toSet;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
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

/** Tests of the demo's programs as a set, and of each on every OpenCL device of this machine. */
class ProgramsTest {
    static final Target SOME_POCL = new Target(Backend.OPENCL, "pocl", "cpu", "1");

    private static final int NAME_LIMIT = 17;

    private static KernelDescriptor descriptor(Program program) {
        return program.descriptor(SOME_POCL, "");
    }

    @TestFactory
    @DisplayName("Each program compiles, gives the expected results, and makes all launches that it"
            + " declares")
    @Tag("exhaustive")
    Stream<DynamicTest> everyProgramOnEveryDevice() {
        List<OpenClDevice> devices = OpenCl.devices();
        Assumptions.assumeFalse(devices.isEmpty(), "no OpenCL device");
        List<DynamicTest> tests = new ArrayList<>();
        for (OpenClDevice device : devices) {
            for (Program program : Programs.all()) {
                tests.add(DynamicTest.dynamicTest(
                        program.name() + " on " + device.target().name(),
                        () -> check(device, program)));
            }
        }
        return tests.stream();
    }

    private static void check(OpenClDevice device, Program program) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            KernelDescriptor descriptor = program.descriptor(engine.target(), "");
            KernelProgram primitive = engine.create(descriptor);
            AtomicBoolean complete = new AtomicBoolean();
            primitive.onBinariesComplete(() -> complete.set(true));
            try (LoadedKernels kernels = engine.load(primitive)) {
                for (String data : List.of("first", "second")) {
                    assertEquals("", program.check(engine, kernels, TestSeed.random(data)));
                }
            }
            assertTrue(
                    complete.get(),
                    "not all declared launches were made: " + descriptor.launches());
            assertEquals(descriptor.entries(), Set.copyOf(primitive.kernels()));
        }
    }

    @Test
    @DisplayName("Fifteen programs, with names that are short, unique and plain")
    void names() {
        List<String> names = Programs.all().stream().map(Program::name).toList();
        assertEquals(15, Set.copyOf(names).size(), names.toString());
        for (String name : names) {
            assertTrue(name.matches("[a-z0-9]+(-[a-z0-9]+)*") && name.length() <= NAME_LIMIT, name);
        }
    }

    @Test
    @DisplayName("Each descriptor is cacheable, the same each time, and different from all others,"
            + " two from one source too")
    void ids() {
        for (Program program : Programs.all()) {
            assertFalse(
                    descriptor(program).getId().isEmpty(),
                    () -> descriptor(program).getId().reason());
            assertEquals(descriptor(program).getId(), descriptor(program).getId());
        }
        assertEquals(
                Programs.all().size(),
                Programs.all().stream()
                        .map(program -> descriptor(program).getId())
                        .collect(toSet())
                        .size());
    }

    @Test
    @DisplayName("The set shows what real programs have: headers, headers of headers, options,"
            + " several kernels")
    void variety() {
        List<KernelDescriptor> all =
                Programs.all().stream().map(ProgramsTest::descriptor).toList();
        assertTrue(
                all.stream()
                                .filter(descriptor -> descriptor.headers().size() > 1)
                                .count()
                        >= 2,
                "programs whose header includes another");
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
    }

    @Test
    @DisplayName("A source that is not in the build is reported by name")
    void sourceMissing() {
        Program missing = Program.of("missing", "none", "", _ -> {});
        assertEquals(
                "The source none.cl is missing",
                assertThrows(IllegalStateException.class, () -> descriptor(missing))
                        .getMessage());
    }
}
