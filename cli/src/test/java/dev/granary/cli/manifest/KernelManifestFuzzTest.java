package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cache.fuzz.FileFuzzer;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.coordinator.toml.TomlFuzz;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

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
                                        "[[kernel]]\nname='k'\nsource=\"\"\"a\nb\"\"\"\n",
                                        "kernel = [{name = 'a', source = 'b'}]\n"
                                                + "a.b.c = 1979-05-27T07:32:00-08:00\n",
                                        kernel("include = [\"i\", '../s']"),
                                        kernel("options = '-D A=1 -I x'"),
                                        kernel("options = '-DS=\"a b\"'"),
                                        kernel("entry = [\"gemm\"]"),
                                        kernel("geometry = { global = [8, 4], local = [2] }"),
                                        kernel("geometry.global = [0x10]"),
                                        "kernel = [{name='a',source='b'},{name='a',source='c'}]"),
                                bytes -> {
                                    try {
                                        for (KernelSpec kernel :
                                                KernelManifest.read(file).kernels()) {
                                            assertFalse(kernel.name().isBlank());
                                        }
                                    } catch (KernelManifestException e) {
                                        TomlFuzz.checkMessage(e);
                                    }
                                })
                        .words(TomlFuzz.WORDS)
                        .allocating(40_000),
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
        KernelSpec kernel =
                new KernelSpec("k", source, List.of(), List.of(), List.of(), Optional.empty());
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
