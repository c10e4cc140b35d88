package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Tests of inputs of a compiler that an id does not contain. */
class UntrackedInputsTest {
    @TempDir
    Path directory;

    private Optional<String> reason(String source, Map<String, String> headers) {
        return new UntrackedInputs(directory).reason(List.of(source), headers, List.of(), false);
    }

    private void write(String path, String text) throws IOException {
        Path file = directory.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-I/usr/include",
                "-I dir",
                "-include x.h",
                "-isystem x",
                "-imacros x",
                "--sysroot=/x",
                "-Xclang",
                "@file"
            })
    @DisplayName("an option that includes files makes the descriptor not cacheable, unless there is"
            + " an extra digest")
    void options(String option) {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(IdPrinter.LAZY, "k").source("int x;").options(option);
        KernelDescriptor refused = builder.build();
        assertTrue(refused.getId().isEmpty());
        assertTrue(
                refused.getId().reason().contains("extra digest"),
                refused.getId().reason());
        assertFalse(builder.extraDigest("sha256:1").build().getId().isEmpty());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "#include NAME",
                "#if __has_include(NAME)\n#endif",
                "??=include \"x.h\"",
                "int d = sizeof(__TIME__);",
                "#define D __DATE__"
            })
    @DisplayName("an input outside the key makes the descriptor not cacheable, unless there is an"
            + " extra digest")
    void sources(String source) {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(IdPrinter.LAZY, "k").source("int x;\n" + source);
        assertTrue(builder.build().getId().isEmpty());
        assertFalse(builder.build().getId().reason().isEmpty());
        assertFalse(builder.extraDigest("sha256:1").build().getId().isEmpty());
        KernelDescriptor inHeader = KernelDescriptor.builder(IdPrinter.LAZY, "k")
                .source("int x;")
                .header("h", source)
                .build();
        assertTrue(inHeader.getId().isEmpty(), "the same in a header");
    }

    @Test
    @DisplayName("an included but unlisted file of the working directory is untracked")
    void unlistedFile() throws Exception {
        assertEquals(Optional.empty(), reason("#include \"a.clh\"", Map.of()));
        write("a.clh", "int a;");
        assertTrue(reason("#include \"a.clh\"", Map.of()).orElseThrow().contains("a.clh"));
        assertTrue(reason("#if __has_include(<a.clh>)\n#endif", Map.of()).isPresent());
        assertEquals(Optional.empty(), reason("#include \"b.clh\"", Map.of()));
    }

    @Test
    @DisplayName("a file of the working directory is untracked if it differs from the listed header"
            + " of its name")
    void shadowedHeader() throws Exception {
        write("a.clh", "int a;\r\n");
        assertEquals(Optional.empty(), reason("#include \"a.clh\"", Map.of("a.clh", "int a;\n")));
        assertTrue(reason("#include \"a.clh\"", Map.of("a.clh", "int b;\n")).isPresent());
        assertTrue(
                reason("#include \"a.clh\"", Map.of("a.clh", "int a;\n", "sub/a.clh", "int b;\n"))
                        .isPresent());
        assertEquals(
                Optional.empty(),
                reason("#include \"sub/a.clh\"", Map.of("sub/a.clh", "int b;\n")));
    }

    @Test
    @DisplayName(
            "includes of a file in the working directory are searched beside it, so a file that"
                    + " shadows a header is found")
    void shadowBehindEqualHeader() throws Exception {
        Map<String, String> headers =
                Map.of("sub/x.clh", "#include \"y.clh\"\n", "sub/y.clh", "#define Y 1\n");
        write("sub/y.clh", "#define Y 2\n");
        assertEquals(Optional.empty(), reason("#include \"sub/x.clh\"\n", headers));
        write("sub/x.clh", "#include \"y.clh\"\n");
        assertTrue(reason("#include \"sub/x.clh\"\n", headers).isPresent());
        write("sub/y.clh", "#define Y 1\n");
        assertEquals(Optional.empty(), reason("#include \"sub/x.clh\"\n", headers));
    }

    @Test
    @DisplayName("absolute includes and symbolic links are followed")
    void absoluteAndLinked() throws Exception {
        write("elsewhere/deep/x.clh", "#include \"../y.clh\"\n");
        write("elsewhere/y.clh", "int y;");
        Path absolute = directory.resolve("elsewhere/y.clh").toAbsolutePath();
        assertTrue(reason("#include \"" + absolute + "\"", Map.of()).isPresent());
        Files.createSymbolicLink(directory.resolve("link"), directory.resolve("elsewhere/deep"));
        Map<String, String> headers =
                Map.of("link/x.clh", "#include \"../y.clh\"\n", "y.clh", "int other;");
        assertTrue(reason("#include \"link/x.clh\"", headers).isPresent());
    }

    @Test
    @DisplayName("a name with a NUL character, at which some systems end it, is unclear")
    void nulInName() {
        assertTrue(reason("#include \"a\0b\"", Map.of()).orElseThrow().contains("NUL"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-DNOW=__TIME__",
                "-DHAS=__has_include",
                "-Xpreprocessor -includex.h",
                "-Wp,-include,x.h",
                "-fmodule-map-file=x"
            })
    @DisplayName(
            "options with a build time macro, a has-include operator or another access to files"
                    + " are untracked")
    void optionsThatReachFiles(String option) {
        assertTrue(new UntrackedInputs(directory)
                .reason(List.of("int x;"), Map.of(), BuildOptions.parse(option), false)
                .isPresent());
    }

    @Test
    @DisplayName("a directive across two sources is found, since drivers join them without a line"
            + " end")
    void directiveAcrossSources() throws Exception {
        write("a.clh", "int a;");
        for (List<String> sources : List.of(
                List.of("#include ", "\"a.clh\"\n"),
                List.of("#inc", "lude <a.clh>"),
                List.of("int x; \\", "\n\n#include \"a.clh\""))) {
            assertTrue(
                    new UntrackedInputs(directory)
                            .reason(sources, Map.of(), List.of(), false)
                            .isPresent(),
                    sources.toString());
        }
    }

    @Test
    @DisplayName("an included name that is not a valid file name is not searched")
    void invalidFileName() {
        assertEquals(Optional.empty(), reason("#include \"a\ud800b\"", Map.of()));
    }

    @Test
    @DisplayName("an include outside of the directory of headers is untracked")
    void outsideOfHeaders() {
        assertEquals(Optional.empty(), reason("#include \"../../../../../../../../x\"", Map.of()));
        assertTrue(reason("#include \"../../../../../../../../../x\"", Map.of())
                .orElseThrow()
                .contains("is outside of"));
        assertTrue(reason("#include \"a/../.././../../../../../../../../x\"", Map.of())
                .orElseThrow()
                .contains("is outside of"));
    }

    @Test
    @DisplayName(
            "with all files listed, a computed include is cacheable, but no absolute one, build"
                    + " time or file of the working directory")
    void everyFileListed() throws Exception {
        KernelDescriptor.Builder builder = KernelDescriptor.builder(IdPrinter.LAZY, "k")
                .everyFileListed()
                .header("x.h", "// x");
        assertFalse(builder.source("#define H \"x.h\"\n#include H\n")
                .build()
                .getId()
                .isEmpty());
        List<String> unseen = List.of(
                "#define H \"/etc/x.h\"\n",
                "#define H </etc/x.h>\n",
                "#define H \"../../../../../../../../../x.h\"\n",
                "int t = sizeof(__TIME__);\n");
        for (String more : unseen) {
            assertTrue(
                    new UntrackedInputs(directory)
                            .reason(List.of("#include H\n" + more), Map.of(), List.of(), true)
                            .isPresent(),
                    more);
        }
        write("a.clh", "int a;");
        assertTrue(new UntrackedInputs(directory)
                .reason(List.of("#include H\n#include \"a.clh\"\n"), Map.of(), List.of(), true)
                .isPresent());
    }
}
