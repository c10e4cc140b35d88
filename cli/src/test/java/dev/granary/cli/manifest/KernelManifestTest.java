package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Tests of reading manifests, and of the messages for invalid ones. */
class KernelManifestTest {
    private final Path directory;
    private final Path file;

    KernelManifestTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("kernels.toml");
    }

    @Test
    @DisplayName("All keys of a kernel are read, and paths are relative to the manifest")
    void everything() throws Exception {
        Files.writeString(file, """
            [[kernel]]
            name = "gemm"
            source = "src/gemm.cl"
            include = ["include", "../shared"]
            options = "-D TILE=16 -I extra -cl-fast-relaxed-math -Imore"
            entry = ["gemm", "gemm_edge"]
            geometry = { global = [1024, 512], local = [16, 16] }
            launch = [{ kernel = "gemm", global = [64], local = [8] },
                      { kernel = "gemm_edge", global = [7] }]
            tag = "experiment"
            extra-digest = "sha256:1"

            [[kernel]]
            name = "saxpy"
            source = "/abs/saxpy.cl"
            """);
        assertEquals(
                List.of(
                        new KernelSpec(
                                "gemm",
                                file + ":1",
                                List.of(directory.resolve("src/gemm.cl")),
                                List.of(
                                        directory.resolve("include"),
                                        directory.resolveSibling("shared"),
                                        directory.resolve("extra"),
                                        directory.resolve("more")),
                                List.of("-DTILE=16", "-cl-fast-relaxed-math"),
                                List.of("gemm", "gemm_edge"),
                                List.of(
                                        new Launch("*", Geometry.of(1024, 512).local(16, 16)),
                                        new Launch("gemm", Geometry.of(64).local(8)),
                                        new Launch("gemm_edge", Geometry.of(7))),
                                "experiment",
                                "sha256:1",
                                Optional.empty()),
                        new KernelSpec(
                                "saxpy",
                                file + ":13",
                                List.of(Path.of("/abs/saxpy.cl")),
                                List.of(),
                                List.of(),
                                List.of(),
                                List.of(),
                                "",
                                "",
                                Optional.empty())),
                KernelManifest.read(file));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "name = 5|2:1|name must be a string",
                "name = 'k'\\nsource = 5|3:1|source must be a string or a list",
                "name = 'k'\\nsource = ['a', 5]|3:1|source must be a list of strings",
                "name = 'k'\\nsource = []|3:1|'k' has no source; add: source = [",
                "name = 'k'\\nsource = ['a', ' ']|3:1|'k' has a source without a path",
                "source = 'a.cl'|1:1|has no name; add: name = \"...\"",
                "source = '{a,b}.cl'|1:1|name = \"...\"; or is its source a pattern? It needs a *",
                "source = ['*.cl']|1:1|name = \"...\"; a list is one program; for one of each",
                "name = 'k'|1:1|has no source; add: source",
                "name = ' '|1:1|no name",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "option = ''|4:1|unknown key 'option'; a kernel has define, entry,"
                        + " extra-digest, geometry, include, launch, name, options, source, tag",
                "name = 'k'\\nsource = 'a'\\n'a b' = ''|4:1|unknown key 'a b'",
                "name = 'k'\\nsource = 'a'\\ninclude = 'inc'|4:1|include must be a list of strings",
                "name = 'k'\\nsource = 'a'\\nentry = ['a', 5]|4:1|entry must be a list of strings",
                "name = 'k'\\nsource = 'a'\\noptions = '-D'|4:1|needs a value",
                "name = 'k'\\nsource = 'a'\\noptions = '\"'|4:1|quote is not closed",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "geometry = [64]|4:1|geometry must be a table such as { global",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "geometry = { globl = [64] }|4:14|unknown key 'globl'; a geometry has"
                        + " global, local",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "geometry = { global = [64.5] }|4:14|list of whole numbers",
                "name = 'k'\\nsource = 'a'\\ngeometry = { global = [0] }|4:1|must be positive",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "geometry = { local = [4] }|4:1|one to three dimensions",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "geometry = { global = [4], local = [2, 2] }|4:1|1 global sizes, but 2"
                        + " local",
                "name = 'k'\\nsource = 'a'\\nlaunch = { kernel = 'k', global = [4] }|4:1|"
                        + "launch must be a list of tables, such as launch = [{ kernel",
                "name = 'k'\\nsource = 'a'\\nlaunch = ['k']|4:1|launch must be a list of tables",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ global = [4] }]|4:1|"
                        + "a launch has no kernel; add: kernel = \"...\", or use geometry",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ kernel = ' ' }]|4:1|has no kernel",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ kernel = 5 }]|4:13|must be a string",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ kernel = 'k' }]|4:13|"
                        + "launch: A launch has one to three dimensions",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ kernel = 'k', size = [4] }]|4:27|"
                        + "unknown key 'size'; a launch has global, kernel, local",
                "name = 'k'\\nsource = 'a'\\nlaunch = [{ kernel = 'k', global = ['4'] }]|4:27|"
                        + "list of whole numbers",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "[[kernel.launch]]\\n"
                        + "kernel = 'k'\\n"
                        + "global = [-1]|5:1|launch: The sizes of a launch must be positive",
                "name = 'k'\\nsource = 'a'\\ntag = 5|4:1|tag must be a string",
                "name = 'k'\\nsource = 'a'\\nextra-digest = []|4:1|extra-digest must be a string",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "[[kernel]]\\n"
                        + "name = 'k'\\n"
                        + "source = 'b'|4:1|'k' is used twice",
                "name = 'k'\\n"
                        + "source = 'a'\\n"
                        + "[settings]\\n"
                        + "x = 1|4:1|unknown key 'settings'; a manifest has defaults,"
                        + " include-manifests, kernel",
                "name = |2:|this is not TOML",
                "name = 'a'\\nname = 'b'|3:1|this is not TOML"
            })
    @DisplayName("An error is reported with file, line, column and remedy")
    void errors(String body, String position, String expected) throws Exception {
        Files.writeString(file, "[[kernel]]\n" + body.replace("\\n", "\n"));
        String message = errorMessage(file);
        assertTrue(
                message.startsWith(file + ":" + position) && message.contains(expected), message);
    }

    @Test
    @DisplayName(
            "An empty file, one pair of brackets, a list of something else, a directory, no file,"
                    + " no text: each has its own message")
    void notManifests() throws Exception {
        assertMessage("", "has no kernel: add a [[kernel]] table");
        assertMessage("[kernel]\nname = 'a'", "kernels.toml:1:1", "with two brackets");
        assertMessage("kernel = [1]", "kernels.toml:1:1", "with two brackets");
        assertMessage("kernel = []", "kernels.toml:1:1", "[[kernel]]");
        assertMessage("__kernel void k() {}", "kernels.toml:1:", "this is not TOML");
        assertTrue(
                errorMessage(directory).contains("is a directory; name the manifest file in it"));
        assertTrue(errorMessage(directory.resolve("missing")).contains("there is no such file"));
        Files.write(file, new byte[] {'#', (byte) 0xff});
        assertTrue(errorMessage(file).contains("not UTF-8"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a = %NEST%|''|nested too deep",
                "\\n\\nb = %NEST%|''|nested too deep",
                "x = 1\\n# [[[\\ny = 2000-01-01T00:00:00-1'|''|not TOML",
                "[\"\\u|''|not TOML",
                "a = 1\\n\\n\\nb = 1979-05-27T07:32:00-1'\\nc = 1\\n|''|not TOML",
                "[[kernel]]\\nname = 'k'\\nsource = 'a'\\noptions = '-D \"\"'|4:1|is empty"
            })
    @DisplayName("failures of the parser itself are errors")
    void parserFails(String text, String place, String expected) throws Exception {
        String nested = text.replace("%NEST%", "[".repeat(4000)).replace("\\n", "\n");
        assertMessage(nested, "kernels.toml:" + place, expected);
    }

    @Test
    @DisplayName("brackets in strings and comments are not nested, and neither are those of a long"
            + " list")
    void bracketsThatDoNotNest() throws Exception {
        String many = "[".repeat(3000);
        assertMessage(
                "# " + many + "\na = '" + many + "'\nb = \"\\\"" + many + "\"\nc = '''" + many
                        + "'''\nd = \"\"\"" + many + "\\\"\"\"\"\ne = [" + "[1], ".repeat(300)
                        + "]\n",
                "unknown key 'a'");
    }

    @Test
    @DisplayName("user information is not echoed: neither from a key, nor from a name, nor from"
            + " invalid TOML")
    void userInformation() throws Exception {
        for (String text : List.of(
                "\"//u:p@\" = 1",
                "\"//u:p@\" = 1\n\"//u:p@\" = 2",
                "\"s3://u:p@host\" = 1",
                "[[kernel]]\nname = '//u:p@'",
                "[[kernel]]\nname = 'k'\nsource = 'a'\n'x//u:p@h' = 1",
                "[[kernel]]\nname = 'k'\nsource = 'a'\noptions = '-DX=//u:p@ \"'",
                "[[kernel]]\n"
                        + "name = '//u:p@'\n"
                        + "source = 'a'\n"
                        + "[[kernel]]\n"
                        + "name = '//u:p@'\n"
                        + "source = 'a'")) {
            Files.writeString(file, text);
            assertTrue(
                    !errorMessage(file).contains("u:p") && errorMessage(file).contains("//...@"),
                    errorMessage(file));
        }
        Files.writeString(file, "\"a\\u001b[31m\\n" + "x".repeat(500) + "\" = 1");
        assertTrue(
                errorMessage(file).chars().noneMatch(Character::isISOControl)
                        && errorMessage(file).length() < 500,
                errorMessage(file));
    }

    private void assertMessage(String text, String... parts) throws Exception {
        Files.writeString(file, text);
        String message = errorMessage(file);
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is not in: " + message);
        }
    }

    private static String errorMessage(Path manifest) {
        return String.valueOf(assertThrows(TomlException.class, () -> KernelManifest.read(manifest))
                .getMessage());
    }
}
