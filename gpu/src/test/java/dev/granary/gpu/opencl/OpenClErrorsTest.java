package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;

/** Tests of exceptions for callers, without leaks. */
@NeedsPocl
class OpenClErrorsTest {
    private final SpyBinding spy = new SpyBinding();
    private final OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());

    @AfterEach
    void close() {
        engine.close();
        Await.holds(() -> spy.alive().isEmpty());
    }

    private KernelDescriptor.Builder builder(String source) {
        return KernelDescriptor.builder(engine.target(), "sample").source(source);
    }

    private String refused(KernelDescriptor.Builder builder) {
        return String.valueOf(
                assertThrows(CompileException.class, () -> engine.create(builder.build()))
                        .getMessage());
    }

    private static void assertSays(Class<? extends Throwable> type, String part, Executable call) {
        String message = String.valueOf(assertThrows(type, call).getMessage());
        assertTrue(message.contains(part), message);
    }

    @Test
    @DisplayName("a device that takes no SPIR-V: the message says so, and the driver gets none")
    void noSpirv() {
        assumeTrue(
                engine.device().intermediateLanguages().isEmpty(),
                "PoCL without SPIR-V, such as version 3.1 of Debian 12");
        String message = refused(KernelDescriptor.builder(engine.target(), "sample")
                .spirv(SampleBinaries.bytes("saxpy.spv")));
        assertEquals(
                "sample does not compile: " + engine.device()
                        + " takes no SPIR-V, only OpenCL C: give this device sources",
                message);
        assertEquals(0, spy.created("program"));
    }

    @Test
    @DisplayName("For a kernel that does not compile, the build log names the error")
    void doesNotCompile() {
        CompileException failure = assertThrows(
                CompileException.class,
                () -> engine.create(builder("kernel void k() { no_such_thing = 1; }")
                        .header("h.clh", "")
                        .build()));
        assertTrue(failure.buildLog().contains("no_such_thing"), failure.buildLog());
        assertTrue(String.valueOf(failure.getMessage()).contains("no_such_thing"));
        String headers = BuildOptions.parse(spy.builtWith.getFirst()).getFirst();
        assertTrue(headers.startsWith("-I/"), headers);
        assertFalse(
                Files.exists(Path.of(headers.substring(2))),
                "the headers are removed after a failed build too");
    }

    @Test
    @DisplayName(
            "A missing entry or header, a path outside, an unknown option and an unknown announced"
                    + " kernel are each named")
    void namesTheError() {
        String missing = refused(builder("kernel void k() {}").entry("k", "nope"));
        assertTrue(missing.endsWith("(CL_INVALID_KERNEL_NAME); the program has k"), missing);
        assertTrue(refused(builder("#include \"missing.clh\"\nkernel void k() {}"))
                .contains("missing.clh"));
        assertTrue(refused(builder("kernel void k() {}").header("../../../../../../../../../x", ""))
                .contains("is outside of"));
        assertTrue(refused(builder("kernel void k() {}").options("-no-such-option"))
                .contains("-no-such-option"));
        assertTrue(refused(builder("kernel void k() {}").launch("nope", Geometry.of(1)))
                .contains("nope@1/*"));
    }

    @Test
    @DisplayName("a binary made for some entries has all kernels of the program, and one that"
            + " lacks a required kernel is not blamed")
    void otherEntries() throws Exception {
        String source = "kernel void k(global int* o) { o[0] = 1; }\n"
                + "kernel void l(global int* o) { o[0] = 2; }";
        Geometry one = Geometry.of(1).local(1);
        KernelDescriptor ofK = builder(source).entry("k").launch("k", one).build();
        KernelDescriptor ofAll = builder(source).launch("k", one).build();
        KernelDescriptor ofMore =
                builder(source).entry("k", "nope").launch("k", one).build();
        KernelDescriptor ofL = builder(source).entry("l").launch("k", one).build();
        assertEquals(ofK.getId(), ofAll.getId());
        assertEquals(ofK.getId(), ofMore.getId());
        assertEquals(ofK.getId(), ofL.getId());
        KernelBinaries binaries = engine.create(ofK).getBinaries(BinaryKind.KERNEL);
        KernelProgram restored = engine.create(ofAll, binaries, BinaryKind.KERNEL);
        assertEquals(List.of("k", "l"), restored.kernels());
        try (LoadedKernels kernels = engine.load(restored);
                OpenClBuffer out = engine.buffer(4)) {
            kernels.launch("l", one, out);
            int[] result = new int[1];
            out.read(result);
            assertEquals(2, result[0]);
        }
        for (KernelDescriptor other : List.of(ofMore, ofL)) {
            assertTrue(assertThrows(
                            RestoreException.class,
                            () -> engine.create(other, binaries, BinaryKind.KERNEL))
                    .isMissingKernel());
            assertThrows(CompileException.class, () -> engine.create(other));
        }
        assertFalse(assertThrows(
                        RestoreException.class,
                        () -> engine.create(
                                ofAll, KernelBinaries.of(new byte[] {1}), BinaryKind.KERNEL))
                .isMissingKernel());
    }

    @Test
    @DisplayName(
            "Several sources, one of them empty, options with white space, and headers above the"
                    + " source compile")
    void compiles() throws Exception {
        KernelProgram primitive = engine.create(builder("#include \"../up.clh\"\n")
                .source("")
                .source("kernel void k(global int* o) { o[0] = A + B; }")
                .header("../up.clh", "#define A 3\n")
                .options("-DB=\"4 + 5\"")
                .build());
        try (LoadedKernels kernels = engine.load(primitive);
                OpenClBuffer out = engine.buffer(4)) {
            kernels.launch("k", Geometry.of(1), out);
            int[] result = new int[1];
            out.read(result);
            assertEquals(12, result[0]);
        }
    }

    @Test
    @DisplayName("Arguments of wrong type, number, size or engine, and invalid launches, throw"
            + " exceptions that name the error")
    void wrongArguments() throws Exception {
        KernelProgram primitive = engine.create(
                builder("kernel void k(global int* o, int n) { o[0] = n; }").build());
        try (LoadedKernels kernels = engine.load(primitive);
                OpenClBuffer out = engine.buffer(4);
                OpenClEngine other = OpenClEngine.open(engine.device());
                OpenClBuffer foreign = other.buffer(4)) {
            Geometry one = Geometry.of(1);
            assertSays(
                    IllegalArgumentException.class,
                    "java.lang.String",
                    () -> kernels.launch("k", one, out, "7"));
            assertSays(
                    IllegalArgumentException.class,
                    "2 parameters, not 1",
                    () -> kernels.launch("k", one, out));
            assertSays(
                    IllegalArgumentException.class,
                    "2 parameters, not 3",
                    () -> kernels.launch("k", one, out, 1, 2));
            assertSays(
                    IllegalArgumentException.class,
                    "another engine",
                    () -> kernels.launch("k", one, foreign, 1));
            assertSays(
                    DriverException.class,
                    "The kernel k does not take Long 1 as parameter 1: clSetKernelArg(1) failed"
                            + " with -51",
                    () -> kernels.launch("k", one, out, 1L));
            assertSays(
                    DriverException.class,
                    "clCreateKernel(nope) failed with -46",
                    () -> kernels.launch("nope", one));
            assertSays(
                    DriverException.class,
                    "clEnqueueNDRangeKernel failed with -54",
                    () -> kernels.launch("k", Geometry.of(1 << 20).local(1 << 20), out, 1));
            kernels.launch("k", one, out, 9);
            int[] result = new int[1];
            out.read(result);
            assertEquals(9, result[0]);
            assertSays(IllegalArgumentException.class, "does not fit", () -> out.read(new int[2]));
            assertSays(
                    IllegalArgumentException.class, "does not fit", () -> out.write(new byte[0]));
        }
        assertSays(IllegalArgumentException.class, "positive size", () -> engine.buffer(0));
        assertSays(IllegalArgumentException.class, "positive size", () -> new LocalMemory(0));
    }

    @Test
    @DisplayName("Using a closed object throws; closing it again has no effect")
    void closed() throws Exception {
        KernelProgram primitive =
                engine.create(SampleKernels.builder(engine.target()).build());
        LoadedKernels kernels = engine.load(primitive);
        OpenClBuffer buffer = engine.buffer(4);
        kernels.close();
        kernels.close();
        buffer.close();
        buffer.close();
        assertSays(
                IllegalStateException.class,
                "kernels are closed",
                () -> kernels.launch("shift", SampleKernels.SMALL_GROUPS));
        assertSays(IllegalStateException.class, "buffer is closed", () -> buffer.write(new int[1]));
    }

    @Test
    @DisplayName("Closing the engine closes its objects; later calls throw instead of crashing")
    void engineClosed() throws Exception {
        KernelDescriptor descriptor = SampleKernels.builder(engine.target()).build();
        KernelProgram primitive = engine.create(descriptor);
        LoadedKernels kernels = engine.load(primitive);
        SampleKernels.checkReverse(engine, kernels, SampleKernels.SMALL_GROUPS);
        OpenClBuffer buffer = engine.buffer(4);
        engine.close();
        engine.close();
        Await.holds(() -> spy.alive().isEmpty());
        for (Callable<?> call : java.util.List.<Callable<?>>of(
                () -> engine.create(descriptor),
                () -> engine.load(primitive),
                () -> engine.buffer(4),
                () -> engine.bufferOf(new int[1]),
                () -> SampleKernels.reverse(engine, kernels, SampleKernels.SMALL_GROUPS))) {
            assertThrows(IllegalStateException.class, call::call);
        }
        assertSays(
                IllegalStateException.class,
                "is closed",
                () -> kernels.launch("shift", SampleKernels.SMALL_GROUPS, buffer, buffer));
        assertSays(IllegalStateException.class, "is closed", () -> buffer.read(new int[1]));
        assertTrue(primitive.getBinaries(dev.granary.cache.BinaryKind.KERNEL).isEmpty());
        kernels.close();
        buffer.close();
    }
}
