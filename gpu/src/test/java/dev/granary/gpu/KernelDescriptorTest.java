package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/** Tests of descriptors: ids, equality, and the conditions of a cacheable descriptor. */
class KernelDescriptorTest {
    private static final Target LAZY = IdPrinter.LAZY;
    private static final Target EAGER = new Target(Backend.OPENCL, "nvidia", "device", "driver");
    private static final String SOURCE = "kernel void k() {}";

    private static KernelDescriptor.Builder base(Target target) {
        return KernelDescriptor.builder(target, "name")
                .source(SOURCE)
                .header("h.clh", "int h;")
                .options("-DX=1");
    }

    private static KernelDescriptor with(UnaryOperator<KernelDescriptor.Builder> change) {
        return change.apply(KernelDescriptor.builder(LAZY, "name")).build();
    }

    private static void assertSame(KernelDescriptor one, KernelDescriptor other) {
        assertEquals(one.getId(), other.getId());
        assertEquals(one, other);
        assertEquals(one.hashCode(), other.hashCode());
    }

    private static void assertDifferent(KernelDescriptor one, KernelDescriptor other) {
        assertNotEquals(one.getId(), other.getId());
        assertNotEquals(one, other);
    }

    @Test
    @DisplayName("equal descriptors have equal id bytes in all threads")
    void sameInThreads() throws Exception {
        KernelDescriptor shared = IdPrinter.everyField();
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<String>> calls = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                calls.add(() -> IdPrinter.hex(shared));
                calls.add(() -> IdPrinter.hex(IdPrinter.everyField()));
            }
            Set<String> ids = new HashSet<>();
            for (Future<String> hex : threads.invokeAll(calls)) {
                ids.add(hex.get());
            }
            assertEquals(Set.of(IdPrinter.hex(IdPrinter.everyField())), ids);
        }
    }

    @Test
    @DisplayName("the ids of one kernel for OpenCL and for Level Zero differ only in the target")
    void backends() {
        Target openCl = new Target(Backend.OPENCL, "intel", "gpu id 0x1", "22.43.24595.41");
        Target levelZero = new Target(Backend.LEVEL_ZERO, "intel", "gpu id 0x1", "1.3.24595");
        List<UnaryOperator<KernelDescriptor.Builder>> inputs = List.of(
                builder -> builder,
                builder -> builder.options("-cl-mad-enable -D Y=2 -cl-fast-relaxed-math"),
                builder -> builder.entry("k").launch("k", Geometry.of(64).local(8)),
                builder -> builder.launch(Geometry.of(1024)),
                builder -> builder.source("kernel void second() {}").includeDirectory("d"),
                builder -> builder.tag("t").extraDigest("digest"),
                builder -> builder.environment(Map.of("IGC_Option", "1", "POCL_X", "2")));
        for (UnaryOperator<KernelDescriptor.Builder> input : inputs) {
            Id ofOpenCl = input.apply(base(openCl)).build().getId();
            Id ofLevelZero = input.apply(base(levelZero)).build().getId();
            assertNotEquals(ofOpenCl, ofLevelZero);
            assertEquals(ofOpenCl, ofLevelZero.withTarget(openCl));
        }
        assertNotEquals(
                base(openCl).options("-cl-mad-enable").build().getId(),
                base(levelZero).options("-ze-opt-level=1").build().getId().withTarget(openCl));
    }

    @Test
    @DisplayName("the id is the same in a JVM with another directory, locale, encoding and time"
            + " zone")
    void sameInProcesses(@TempDir Path directory) throws Exception {
        String output = DriverProcess.of(IdPrinter.class, directory)
                .flags(
                        "-Duser.language=tr",
                        "-Duser.country=TR",
                        "-Duser.timezone=Asia/Kathmandu",
                        "-Dfile.encoding=ISO-8859-1",
                        "-Djava.io.tmpdir=" + directory)
                .variables(Map.of("LC_ALL", "C"))
                .run()
                .output();
        assertEquals(IdPrinter.hex(IdPrinter.everyField()), DriverProcess.value(output, "id"));
    }

    @Test
    @DisplayName("a change of any single field changes id and equality")
    void everyFieldCounts() {
        List<KernelDescriptor> all = new ArrayList<>();
        all.add(base(LAZY).build());
        for (Target target : List.of(
                new Target(Backend.LEVEL_ZERO, LAZY.vendor(), "device", "driver"),
                EAGER,
                new Target(Backend.OPENCL, LAZY.vendor(), "devicf", "driver"),
                new Target(Backend.OPENCL, LAZY.vendor(), "device", "drives"))) {
            all.add(base(target).build());
        }
        all.add(KernelDescriptor.builder(LAZY, "name")
                .source(SOURCE + " ")
                .header("h.clh", "int h;")
                .options("-DX=1")
                .build());
        all.add(base(LAZY).source("int more;").build());
        all.add(base(LAZY).header("h.clh", "int H;").build());
        all.add(base(LAZY).header("i.clh", "int h;").build());
        all.add(base(LAZY).includeDirectory("sub").build());
        all.add(base(LAZY).includeDirectory("sub2").build());
        all.add(base(LAZY).options("-DY").build());
        all.add(base(LAZY).launch(Geometry.of(8)).build());
        all.add(base(LAZY).launch(Geometry.of(8).local(4)).build());
        all.add(base(LAZY).launch("k", Geometry.of(8)).build());
        all.add(base(LAZY).extraDigest("e").build());
        all.add(base(LAZY).tag("e").build());
        Set<Id> ids = new HashSet<>();
        all.forEach(descriptor -> ids.add(descriptor.getId()));
        assertEquals(all.size(), ids.size());
        assertEquals(all.size(), new HashSet<>(all).size());
    }

    @Test
    @DisplayName("text moved across the border of two fields changes the id, also with NULs")
    void fieldBorders() {
        assertDifferent(
                with(b -> b.source("int a;int b;").source("int c;")),
                with(b -> b.source("int a;").source("int b;int c;")));
        assertDifferent(
                with(b -> b.source("int a;").source("int b;")),
                with(b -> b.source("int a;int b;")));
        assertDifferent(with(b -> b.source("a").source("")), with(b -> b.source("a")));
        assertDifferent(with(b -> b.source("a").header("x", "yz")), with(b -> b.source("a")
                .header("xy", "z")));
        assertDifferent(
                with(b -> b.source("a").header("x", "y").header("z", "")),
                with(b -> b.source("a").header("x", "").header("z", "y")));
        assertDifferent(
                with(b -> b.source("a").header("x", "y")),
                with(b -> b.source("a").source("x").source("y")));
        assertDifferent(
                with(b -> b.source("a\0").source("b")), with(b -> b.source("a").source("\0b")));
        assertDifferent(with(b -> b.source("a\0b")), with(b -> b.source("ab")));
        assertDifferent(
                with(b -> b.source("a").tag("t\0u")), with(b -> b.source("a").tag("t")));
        assertDifferent(with(b -> b.source("a").options("-DA -DB")), with(b -> b.source("a")
                .options("'-DA -DB'")));
        assertDifferent(
                with(b -> b.source("a").tag("t")), with(b -> b.source("a").extraDigest("t")));
    }

    @Test
    @DisplayName("the display name does not enter the id")
    void displayName() {
        assertSame(
                KernelDescriptor.builder(LAZY, "one").source("a").build(),
                KernelDescriptor.builder(LAZY, "two").source("a").build());
    }

    @Test
    @DisplayName("equivalent options, orders of headers and entries, and repeated entries give the"
            + " same id")
    void equivalentSpellings() {
        assertSame(
                with(b -> b.source("a").options("-DX=1 -DY")),
                with(b -> b.source("a").options("-D X=1").options(" \t-D   Y\n")));
        assertSame(with(b -> b.source("a").options("-DX=\"a b\"")), with(b -> b.source("a")
                .options("'-DX=a b'")));
        assertSame(with(b -> b.source("a").options("")), with(b -> b.source("a")));
        assertSame(
                with(b -> b.source("a").header("x", "1").header("y", "2")),
                with(b -> b.source("a").header("y", "2").header("x", "1")));
        assertSame(
                with(b -> b.source("a").entry("x", "y")),
                with(b -> b.source("a").entry("y").entry("x").entry("x")));
        assertSame(
                with(b -> b.source("a").launch("x", Geometry.of(1)).launch("y", Geometry.of(2))),
                with(b -> b.source("a").launch("y", Geometry.of(2)).launch("x", Geometry.of(1))));
    }

    @Test
    @DisplayName("the order of options and of include directories counts, since a later one may"
            + " override")
    void orderedLists() {
        assertDifferent(with(b -> b.source("a").options("-DX -UX")), with(b -> b.source("a")
                .options("-UX -DX")));
        assertDifferent(
                with(b -> b.source("a").includeDirectory("x").includeDirectory("y")),
                with(b -> b.source("a").includeDirectory("y").includeDirectory("x")));
    }

    @Test
    @DisplayName("the order and repetition of flags do not count, unless another option could"
            + " depend on them")
    void flags() {
        KernelDescriptor flags = with(
                b -> b.source("a").options("-DX -DY -Werror -cl-fast-relaxed-math -cl-mad-enable"));
        assertEquals("-DX -DY -Werror -cl-fast-relaxed-math -cl-mad-enable", flags.options());
        for (String same : List.of(
                "-cl-mad-enable -DX -DY -Werror -cl-fast-relaxed-math",
                "-DX -cl-mad-enable -DY -cl-fast-relaxed-math -cl-mad-enable -Werror")) {
            assertSame(flags, with(b -> b.source("a").options(same)));
        }
        assertDifferent(flags, with(b -> b.source("a")
                .options("-DY -DX -Werror -cl-fast-relaxed-math -cl-mad-enable")));
        for (String dependent : List.of(
                "-U__FAST_RELAXED_MATH__",
                "-D_X",
                "-cl-opt-disable",
                "-fno-fast-math",
                "-O0",
                "-x")) {
            assertDifferent(
                    with(b -> b.source("a").options(List.of("-cl-mad-enable", dependent + "1"))),
                    with(b -> b.source("a").options(List.of(dependent + "1", "-cl-mad-enable"))));
        }
    }

    @Test
    @DisplayName("a header edited between two builds of the same source misses")
    void editedHeader() {
        assertDifferent(
                with(b -> b.source("#include \"n.clh\"").header("n.clh", "#define N 1")),
                with(b -> b.source("#include \"n.clh\"").header("n.clh", "#define N 2")));
    }

    @Test
    @DisplayName("line endings in sources and headers do not count")
    void lineEndings() {
        KernelDescriptor unix = with(b -> b.source("a\nb\n").header("h", "c\nd"));
        assertSame(unix, with(b -> b.source("a\r\nb\r\n").header("h", "c\r\nd")));
        assertSame(unix, with(b -> b.source("a\rb\r").header("h", "c\rd")));
        assertDifferent(unix, with(b -> b.source("a\nb\n").header("h", "c\nd\n")));
    }

    @Test
    @DisplayName("line endings after the last line of a program do not count, unless that line"
            + " continues")
    void finalNewline() {
        KernelDescriptor plain = with(b -> b.source("a"));
        assertEquals(List.of("a\n"), plain.sources());
        for (String end : List.of("\n", "\n\n", "\r\n", "\r\r\n")) {
            assertSame(plain, with(b -> b.source("a" + end)));
        }
        assertSame(with(b -> b.source("int x;").source("a")), with(b -> b.source("int x;")
                .source("a\n")));
        assertDifferent(with(b -> b.source("int x;").source("a")), with(b -> b.source("int x;\n")
                .source("a")));
        for (String end : List.of(" ", "\t", "\u0085", "\f", " \n \n")) {
            assertDifferent(plain, with(b -> b.source("a" + end)));
        }
        assertEquals(List.of("a??/"), with(b -> b.source("a??/")).sources());
        for (String continued : List.of("a\\", "a\\ ", "a\\\t ", "// a\\")) {
            KernelDescriptor one = with(b -> b.source(continued));
            assertEquals(List.of(continued), one.sources());
            assertDifferent(one, with(b -> b.source(continued + "\n")));
            assertDifferent(one, with(b -> b.source(continued + "\n\n")));
        }
    }

    private static void assertOnlyEntriesDiffer(KernelDescriptor one, KernelDescriptor other) {
        assertEquals(one.getId(), other.getId());
        assertNotEquals(one, other, "each checks its own entries");
    }

    @Test
    @DisplayName("entries do not enter the id; each launch of every kernel becomes one launch"
            + " for each entry")
    void entries() {
        assertOnlyEntriesDiffer(base(LAZY).build(), base(LAZY).entry("k").build());
        assertOnlyEntriesDiffer(
                base(LAZY).entry("x", "y").build(), base(LAZY).entry("xy").build());
        Geometry geometry = Geometry.of(64).local(8);
        KernelDescriptor named = base(LAZY).launch("k", geometry).build();
        assertOnlyEntriesDiffer(named, base(LAZY).entry("k").launch(geometry).build());
        assertOnlyEntriesDiffer(named, base(LAZY).launch(geometry).entry("k").build());
        assertOnlyEntriesDiffer(
                base(LAZY).launch("k", geometry).launch("l", geometry).build(),
                base(LAZY).entry("l", "k").launch(geometry).build());
        assertDifferent(named, base(LAZY).launch(geometry).build());
        assertDifferent(named, base(LAZY).entry("k", "l").launch(geometry).build());
    }

    @Test
    @DisplayName("a tag enters the id")
    void tag() {
        assertDifferent(
                with(b -> b.source("a").tag("x")), with(b -> b.source("a").tag("y")));
        assertSame(with(b -> b.source("a").tag("")), with(b -> b.source("a")));
    }

    @Test
    @DisplayName("a key of many KiB works; its name has a fixed length")
    void longKeys() {
        Id id = with(b -> b.source("int a;\n".repeat(1 << 17))).getId();
        assertTrue(id.length() > 7 << 17);
        assertEquals(64, id.hash().hex().length());
    }

    @Test
    @DisplayName("announced launches enter the id only if the driver compiles at launch")
    void launchesOfLazyDrivers() {
        assertSame(base(EAGER).launch(Geometry.of(8)).build(), base(EAGER).build());
        assertDifferent(base(LAZY).launch(Geometry.of(8)).build(), base(LAZY).build());
        assertTrue(base(EAGER).launch(Geometry.of(8)).build().launches().isEmpty());
    }

    @Test
    @DisplayName("the readable key names the fields of the id")
    void readableKey() {
        String key = IdPrinter.everyField().readableKey();
        for (String part : List.of(
                "TITLE",
                "iI.clh",
                "sub/b.clh",
                "-cl-mad-enable",
                "k z",
                "k@4x4/*",
                "k@1234567/1",
                "z@1234567/1")) {
            assertTrue(key.contains(part), key);
        }
    }

    @Test
    @DisplayName(
            "A descriptor without source, or with an absolute or invalid header path, is refused")
    void refused() {
        assertThrows(IllegalArgumentException.class, () -> KernelDescriptor.builder(LAZY, "x")
                .build());
        assertThrows(IllegalArgumentException.class, () -> with(b -> b.source(" \n")));
        with(b -> b.source("a").header(" ", "")); // F7: a file may be called so
        for (String place : List.of("", "/etc/x", "a\0b")) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> with(b -> b.source("a").header(place, "")),
                    place);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> with(b -> b.source("a").includeDirectory(place)),
                    place);
        }
    }

    private static KernelDescriptor in(Target target, Map<String, String> environment) {
        return base(target).environment(environment).build();
    }

    @ParameterizedTest
    @CsvSource({
        "pocl, POCL_WORK_GROUP_METHOD",
        "pocl, POCL_EXTRA_BUILD_FLAGS",
        "pocl, POCL_LLVM_CPU_NAME",
        "intel, IGC_ForceOCLSIMDWidth",
        "intel, OverrideDefaultFP64Settings",
        "intel, NEO_FP64_EMULATION",
        "intel, ZET_ENABLE_PROGRAM_DEBUGGING",
        "intel, ZET_ENABLE_PROGRAM_INSTRUMENTATION",
        "intel, ONEAPI_PVC_SEND_WAR_WA",
        "nvidia, CUDA_FORCE_PTX_JIT",
        "another, AMD_OCL_BUILD_OPTIONS",
        "another, AMD_OCL_BUILD_OPTIONS_APPEND",
        "another, POCL_WORK_GROUP_METHOD",
        "another, IGC_ForceOCLSIMDWidth",
        "another, CUDA_FORCE_PTX_JIT",
        "another, AMD_COMGR_X",
        "another, AMD_DEBUG_X",
        "another, CLOVER_EXTRA_COMPILE_OPTIONS",
        "another, RUSTICL_FEATURES",
        "another, GALLIVM_PERF",
        "another, LP_NATIVE_VECTOR_WIDTH",
        "another, OCLGRIND_BUILD_OPTIONS"
    })
    @DisplayName("the name and value of a variable that changes the compiled code change the id")
    void compilerEnvironment(String vendor, String variable) {
        Target target = new Target(Backend.OPENCL, vendor, "device", "driver");
        KernelDescriptor without = in(target, Map.of("PATH", "/bin"));
        assertSame(without, in(target, Map.of()));
        assertDifferent(without, in(target, Map.of(variable, "a")));
        assertDifferent(in(target, Map.of(variable, "a")), in(target, Map.of(variable, "b")));
        assertDifferent(
                in(target, Map.of(variable, "a")), in(target, Map.of(variable + "_2", "a")));
        assertSame(
                in(target, Map.of(variable, "a")),
                in(target, Map.of("HOME", "/home", variable, "a")));
        assertTrue(in(target, Map.of(variable, "a")).readableKey().contains(variable + "=a"));
        assertFalse(in(target, Map.of(variable, "a")).getId().isEmpty());
    }

    @ParameterizedTest
    @CsvSource({
        "pocl, POCL_CACHE_DIR",
        "pocl, POCL_KERNEL_CACHE",
        "pocl, POCL_DEBUG",
        "pocl, POCL_DEVICES",
        "pocl, POCL_BINARY_SPECIALIZE_WG",
        "pocl, IGC_ForceOCLSIMDWidth",
        "intel, NEO_CACHE_PERSISTENT",
        "intel, POCL_WORK_GROUP_METHOD",
        "intel, ZE_AFFINITY_MASK",
        "intel, ZET_ENABLE_METRICS",
        "another, RUSTICL_MAX_WORK_GROUPS",
        "another, OCLGRIND_LOG",
        "nvidia, CUDA_CACHE_DISABLE",
        "nvidia, CUDA_VISIBLE_DEVICES",
        "another, POCL_CACHE_DIR",
        "another, NEO_CACHE_DIR",
        "pocl, NEOReadDebugKeys"
    })
    @DisplayName("variables of caches, logs, devices and other drivers do not change the id")
    void harmlessEnvironment(String vendor, String variable) {
        Target target = new Target(Backend.OPENCL, vendor, "device", "driver");
        assertSame(in(target, Map.of()), in(target, Map.of(variable, "1")));
    }

    @Test
    @DisplayName("if Intel's driver reads any variable, a descriptor is cacheable only with an"
            + " extra digest")
    void intelDebugKeys() {
        Target intel = new Target(Backend.OPENCL, "intel", "device", "driver");
        Id refused = in(intel, Map.of("NEOReadDebugKeys", "1")).getId();
        assertTrue(refused.isEmpty());
        assertTrue(refused.reason().contains("NEOReadDebugKeys=1"), refused::reason);
        assertFalse(base(intel)
                .environment(Map.of("NEOReadDebugKeys", "1"))
                .extraDigest("mine")
                .build()
                .getId()
                .isEmpty());
        assertSame(in(intel, Map.of()), in(intel, Map.of("NEOReadDebugKeys", "0")));
        assertSame(in(intel, Map.of()), in(intel, Map.of("NEOReadDebugKeys", "")));
        Target another = new Target(Backend.OPENCL, "another", "device", "driver");
        assertTrue(
                in(another, Map.of("NEOReadDebugKeys", "1")).getId().isEmpty(),
                "the driver may be Intel's");
        assertFalse(in(
                        new Target(Backend.OPENCL, "nvidia", "device", "driver"),
                        Map.of("NEOReadDebugKeys", "1"))
                .getId()
                .isEmpty());
    }

    @Test
    @DisplayName(
            "each driver's variables in the environment that the process was started with count")
    void environmentOfProcess(@TempDir Path directory) throws Exception {
        String plain = DriverProcess.of(IdPrinter.class, directory).run().output();
        String set = DriverProcess.of(IdPrinter.class, directory)
                .variables(Map.of("POCL_WORK_GROUP_METHOD", "loopvec"))
                .run()
                .output();
        for (String id : List.of("id", "id of another vendor")) {
            assertNotEquals(DriverProcess.value(plain, id), DriverProcess.value(set, id));
        }
        assertEquals(
                DriverProcess.value(plain, "id of intel"), DriverProcess.value(set, "id of intel"));
    }

    @Test
    @DisplayName("texts with equal hash codes give different keys in every part: launches, header"
            + " paths and all others")
    void equalHashes() {
        String[] twins = {"Aa", "BB"};
        assertEquals(twins[0].hashCode(), twins[1].hashCode());
        List<BiFunction<KernelDescriptor.Builder, String, KernelDescriptor.Builder>> parts =
                List.of(
                        KernelDescriptor.Builder::source,
                        (builder, text) -> builder.header(text, "int h2;"),
                        (builder, text) -> builder.header("h2.clh", text),
                        KernelDescriptor.Builder::includeDirectory,
                        (builder, text) -> builder.options("-D" + text),
                        (builder, text) -> builder.launch(text, Geometry.of(64).local(8)),
                        KernelDescriptor.Builder::extraDigest,
                        KernelDescriptor.Builder::tag,
                        (builder, text) -> builder.environment(Map.of("POCL_X", text)));
        for (var part : parts) {
            KernelDescriptor one = part.apply(base(LAZY), twins[0]).build();
            KernelDescriptor other = part.apply(base(LAZY), twins[1]).build();
            assertEquals(one.hashCode(), other.hashCode(), "the test needs a collision");
            assertDifferent(one, other);
        }
        assertOnlyEntriesDiffer(
                base(LAZY).entry(twins[0]).build(), base(LAZY).entry(twins[1]).build());
    }

    @Test
    @DisplayName("the path of a header counts, not only its content")
    void pathOfHeader() {
        UnaryOperator<KernelDescriptor.Builder> source =
                builder -> builder.source("#include \"a.h\"\n#include \"b.h\"\nkernel void k() {}");
        assertDifferent(
                with(builder ->
                        source.apply(builder).header("a.h", "int x;").header("b.h", "int y;")),
                with(builder ->
                        source.apply(builder).header("a.h", "int y;").header("b.h", "int x;")));
        assertDifferent(
                with(builder -> source.apply(builder).header("a.h", "int x;")),
                with(builder -> source.apply(builder).header("b.h", "int x;")));
    }

    @Test
    @DisplayName("a build time macro in a comment leaves a source cacheable; elsewhere it does not")
    void buildTimeInComment() {
        assertFalse(
                with(builder -> builder.source("/* __DATE__ */ // __TIME__\nkernel void k() {}"))
                        .getId()
                        .isEmpty());
        assertTrue(with(builder -> builder.source(
                        "/* */ char d[] = __DATE__; // __TIME__\nkernel void k() {}"))
                .getId()
                .isEmpty());
    }
}
