package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cache.fuzz.FileFuzzer;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFuzz;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Fuzz tests of manifests and sources of kernels: a result, or a message about the error. */
class KernelManifestFuzzTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("Fuzz: a manifest is read, or its error is reported with line and column")
    void manifest() throws Exception {
        Path file = directory.resolve("kernels.toml");
        FileFuzzer.run(
                file,
                FuzzTarget.of(
                                "kernels.toml",
                                FuzzTarget.texts(
                                        """
                                        [[kernel]]
                                        name = "gemm"
                                        source = "src/gemm.cl"
                                        include = ["include", '../shared']
                                        options = '-D TILE=16 -I extra -DS="a b"'
                                        entry = ["gemm"]
                                        geometry = { global = [1024, 512], local = [16, 16] }
                                        """,
                                        """
                                        [[kernel]]
                                        name = "k"
                                        entry = ["k"]
                                        source = ["k.toml.d/1.cl", "k.toml.d/2.cl"]
                                        header = [
                                            { path = "../a.h", file = "k.toml.d/3.h" },
                                        ]
                                        include-directory = ["i"]
                                        every-file-listed = true
                                        options = "-DA=1"
                                        launch = [{ kernel = "*", global = [8], local = [2] }]
                                        tag = "t"
                                        target = [
                                            { id = "%s", backend = "opencl", vendor = "v", \
                                        device = "d", driver = "1", environment = { A = "b" } },
                                        ]
                                        """.formatted("0".repeat(64)),
                                        "[[kernel]]\nname='k'\nsource=\"\"\"a\nb\"\"\"\n",
                                        "kernel = [{name = 'a', source = 'b'}]\n"
                                                + "a.b.c = 1979-05-27T07:32:00-08:00\n",
                                        kernel("include = [\"i\", '../s']"),
                                        kernel("options = '-D A=1 -I x'"),
                                        kernel("options = '-DS=\"a b\"'"),
                                        kernel("entry = [\"gemm\"]"),
                                        kernel("geometry = { global = [8, 4], local = [2] }"),
                                        kernel("geometry.global = [0x10]"),
                                        kernel("launch = [{ kernel = 'k', global = [8] }]"),
                                        kernel("[[kernel.launch]]\nkernel = 'k'\nlocal = [1]"),
                                        kernel("tag = 't'\nextra-digest = 'd'"),
                                        "kernel = [{name='a',source='b'},{name='a',source='c'}]"),
                                bytes -> {
                                    try {
                                        for (KernelSpec kernel : KernelManifest.read(file)) {
                                            assertFalse(kernel.name().isBlank());
                                        }
                                    } catch (TomlException e) {
                                        TomlFuzz.checkMessage(e);
                                    }
                                })
                        .words(TomlFuzz.WORDS)
                        .allocating(40_000),
                FileFuzzer.runs(50));
    }

    @Test
    @DisplayName("Fuzz: a manifest whose tables stand for many kernels makes a bounded number, with"
            + " different names, or its error is reported")
    void expansion() throws Exception {
        Files.createDirectories(directory.resolve("src/deep"));
        for (String source : List.of("src/a.cl", "src/b.cl", "src/deep/c.cl")) {
            Files.writeString(directory.resolve(source), "kernel void k() {}");
        }
        Files.createSymbolicLink(directory.resolve("src/deep/up"), directory);
        Files.writeString(
                directory.resolve("other.toml"), "[[kernel]]\nname = 'other'\nsource = 'o.cl'");
        Path file = directory.resolve("kernels.toml");
        FileFuzzer.run(
                file,
                FuzzTarget.of(
                                "kernels.toml with patterns",
                                FuzzTarget.texts(
                                        """
                                        include-manifests = ["other.toml"]
                                        [defaults]
                                        options = "-cl-std=CL1.2 -D A=1"
                                        include = ["src"]
                                        define = { TILE = [8, 16], TYPE = "float" }
                                        geometry = { global = [64], local = [8] }
                                        tag = "t"
                                        extra-digest = "d"
                                        [[kernel]]
                                        source = "src/**/*.cl"
                                        """,
                                        kernel("").replace("'s'", "['src/b.cl', 'src/*.cl']"),
                                        kernel("").replace("'s'", "'src/**'"),
                                        "[[kernel]]\nsource = '**/{a,b}*.c?'",
                                        "[[kernel]]\nsource = 'src/d[a-f]e?/../*'",
                                        "[[kernel]]\nsource = './*/deep/up/**/*.cl'",
                                        kernel("define = { A = [1, 2, 3], B = ['x', 'y z'] }"),
                                        kernel("define.FLAG = [true, false]\ndefine.N = -1"),
                                        kernel("[kernel.define]\nA = [1, 2, 3, 4, 5, 6, 7, 8]"),
                                        "include-manifests = ['other.toml', 'src/../other.toml']",
                                        "include-manifests = ['kernels.toml']",
                                        "include-manifests = ['src', 'missing.toml']",
                                        "[[defaults]]\noptions = 5"),
                                bytes -> {
                                    try {
                                        List<KernelSpec> kernels = KernelManifest.read(file);
                                        assertTrue(kernels.size()
                                                <= KernelManifest.MAX_KERNELS + bytes.length);
                                        assertEquals(
                                                kernels.size(),
                                                kernels.stream()
                                                        .map(KernelSpec::name)
                                                        .distinct()
                                                        .count());
                                        for (KernelSpec kernel : kernels) {
                                            assertFalse(kernel.name().isBlank());
                                            assertFalse(kernel.sources().isEmpty());
                                        }
                                    } catch (TomlException e) {
                                        TomlFuzz.checkMessage(e);
                                    }
                                })
                        .words(Stream.concat(
                                        TomlFuzz.WORDS.stream(),
                                        Stream.of(
                                                "**",
                                                "*",
                                                "?",
                                                "{",
                                                "}",
                                                "/",
                                                "..",
                                                "src/",
                                                "define",
                                                "defaults",
                                                "source",
                                                "kernels.toml",
                                                "include-manifests",
                                                "[1, 2, 3, 4, 5, 6, 7, 8]",
                                                "'0', '1', '2', '3', '4', '5', '6', '7', '8'"))
                                .toList())
                        // 10,000 kernels, or 200,000 files, of a short text
                        .allocating(2_000_000),
                FileFuzzer.runs(50));
    }

    private static String kernel(String more) {
        return "[[kernel]]\nname='k'\nsource='s'\n" + more;
    }

    @Test
    @DisplayName("Fuzz: a kernel's source and header become a descriptor or an IOException")
    void kernelFiles() throws Exception {
        Path source = directory.resolve("k.cl");
        Files.writeString(directory.resolve("a.h"), "int a;");
        KernelSpec kernel = TestKernels.of("k", source);
        Target target = new Target(Backend.OPENCL, "v", "d", "1");
        FileFuzzer.run(
                source,
                FuzzTarget.of(
                                "kernel files",
                                FuzzTarget.texts(
                                        "#include \"a.h\"\nkernel void k() {}\n",
                                        "#define H <a.h>\n#include H\n"),
                                bytes -> {
                                    KernelSourceResolver.descriptor(kernel, target)
                                            .getId();
                                })
                        .words(List.of(
                                "#include ",
                                "\"a.h\"",
                                "<",
                                ">",
                                "..",
                                "/",
                                " ",
                                "\u3000",
                                "??=",
                                "\\\n",
                                "\0",
                                "~",
                                "./"))
                        .throwing(IOException.class)
                        .allocating(2000),
                FileFuzzer.runs(50));
    }
}
