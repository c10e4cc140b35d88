package dev.granary.cli.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Tests of manifests whose tables stand for many kernels: patterns, lists of sources, macros,
 * defaults and included manifests.
 */
class ManifestExpansionTest {
    private final Path directory;
    private final Path file;

    ManifestExpansionTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("kernels.toml");
    }

    private void touch(String... files) throws IOException {
        for (String name : files) {
            Path path = directory.resolve(name);
            Files.createDirectories(path.getParent());
            Files.writeString(path, "kernel void k() {}\n");
        }
    }

    private List<KernelSpec> read(String text) throws Exception {
        Files.writeString(file, text);
        return KernelManifest.read(file);
    }

    private List<String> names(String text) throws Exception {
        return read(text).stream().map(KernelSpec::name).toList();
    }

    private String sources(String text) throws Exception {
        return read(text).stream()
                .flatMap(kernel -> kernel.sources().stream())
                .map(source -> directory.relativize(source).toString())
                .collect(Collectors.joining(" "));
    }

    private String error(String text) throws Exception {
        Files.writeString(file, text);
        return String.valueOf(assertThrows(TomlException.class, () -> KernelManifest.read(file))
                .getMessage());
    }

    private void assertError(String text, String place, String... parts) throws Exception {
        String message = error(text);
        assertTrue(message.startsWith(file + place), message);
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is not in: " + message);
        }
    }

    private static String kernel(String keys) {
        return "[[kernel]]\nname = 'k'\n" + keys;
    }

    @Test
    @DisplayName("A pattern makes one kernel of each file, sorted, with the name of the file")
    void onePerFile() throws Exception {
        touch("k/b.cl", "k/a.cl", "k/x/y/c.v2.cl", "k/d.h", "k/.hidden.cl", "k/.git/e.cl", "f.cl");
        assertEquals(List.of("a", "b", "x/y/c.v2"), names("[[kernel]]\nsource = 'k/**/*.cl'"));
        assertEquals(List.of("a", "b"), names("[[kernel]]\nsource = 'k/*.cl'"));
        assertEquals(
                List.of("fast/a", "fast/b", "a", "b"),
                names("[[kernel]]\nname = 'fast'\nsource = 'k/*.cl'\n"
                        + "options = '-cl-fast-relaxed-math'\n"
                        + "[[kernel]]\nsource = 'k/?.cl'"));
        assertEquals(
                List.of("a"), names("[[kernel]]\nsource = '" + directory.resolve("k/a*.cl") + "'"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "**/*.cl|a.cl d/b.cl d/e/a.cl d/e/f/c.cl g/c.cl",
                "d/**/*.cl|d/b.cl d/e/a.cl d/e/f/c.cl",
                "./d//**/**/*.cl|d/b.cl d/e/a.cl d/e/f/c.cl",
                "**/e/**/?.cl|d/e/a.cl d/e/f/c.cl",
                "*/e/*|d/e/a.cl",
                "d/**|d/b.cl d/e/a.cl d/e/f/c.cl",
                "*/[a-b].cl|d/b.cl",
                "*/{b,c}.cl|d/b.cl g/c.cl",
                "d/../*/c.cl|g/c.cl",
                ".*/*.cl|.hidden/h.cl",
                "*.c*|a.cl",
                "**/[!a].cl|d/b.cl d/e/f/c.cl g/c.cl",
            })
    @DisplayName("Wildcards match within a name, two asterisks match directories, sorted by path")
    void wildcards(String pattern, String expected) throws Exception {
        touch("a.cl", "d/b.cl", "d/e/a.cl", "d/e/f/c.cl", "g/c.cl", ".hidden/h.cl");
        assertEquals(expected, sources(kernel("source = ['" + pattern + "']")));
    }

    @Test
    @DisplayName("A pattern ends although links lead around in a circle; a named link is followed")
    void links() throws Exception {
        touch("k/a.cl", "other/b.cl");
        Files.createSymbolicLink(directory.resolve("k/up"), directory);
        Files.createSymbolicLink(directory.resolve("k/c.cl"), directory.resolve("other/b.cl"));
        assertEquals("k/a.cl k/c.cl", sources("[[kernel]]\nsource = 'k/**/*.cl'"));
        assertEquals("k/up/other/b.cl", sources("[[kernel]]\nsource = 'k/up/o*/*.cl'"));
        assertEquals("k/up/other/b.cl", sources("[[kernel]]\nsource = 'k/u?/other/*.cl'"));
    }

    @Test
    @DisplayName("A text without * and ? is a path, also with brackets; it need not exist")
    void plainPath() throws Exception {
        assertEquals("a[1].cl", sources(kernel("source = 'a[1].cl'")));
        assertEquals("{a,b}.cl b.cl", sources(kernel("source = ['{a,b}.cl', 'b.cl']")));
    }

    @Test
    @DisplayName("A list is one program: in its order, a pattern in it expanded in sorted order,"
            + " without files that the list names")
    void list() throws Exception {
        touch("a.cl", "b.cl", "c.cl", "first.cl");
        assertEquals(
                List.of(new KernelSpec(
                        "k",
                        file + ":1",
                        List.of(directory.resolve("b.cl"), directory.resolve("a.cl")),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        "",
                        "",
                        Optional.empty())),
                read(kernel("source = ['b.cl', 'a.cl']")));
        assertEquals(
                "first.cl a.cl b.cl c.cl",
                sources(kernel("source = ['first.cl', '*.cl', 'c.cl']")));
        assertEquals("a.cl a.cl b.cl", sources(kernel("source = ['a.cl', 'a.cl', '[ab]*']")));
        assertEquals(1, read(kernel("source = ['*.cl']")).size());
    }

    @Test
    @DisplayName("define is a cross product in the order of the file; single values are not in the"
            + " name, true defines a macro, false does not")
    void define() throws Exception {
        List<KernelSpec> kernels = read(kernel("source = 'a.cl'\noptions = '-w'\n"
                + "define = { TYPE = ['float', 'half'], N = 4, S = 'a b', A = [8, 16],"
                + " FLAG = [true, false], OFF = false }"));
        assertEquals(
                List.of(
                        "k-TYPE=float-A=8-FLAG=true",
                        "k-TYPE=float-A=8-FLAG=false",
                        "k-TYPE=float-A=16-FLAG=true",
                        "k-TYPE=float-A=16-FLAG=false",
                        "k-TYPE=half-A=8-FLAG=true",
                        "k-TYPE=half-A=8-FLAG=false",
                        "k-TYPE=half-A=16-FLAG=true",
                        "k-TYPE=half-A=16-FLAG=false"),
                kernels.stream().map(KernelSpec::name).toList());
        assertEquals(
                List.of("-w", "-DTYPE=float", "-DN=4", "-DS=a b", "-DA=8", "-DFLAG"),
                kernels.getFirst().options());
        assertEquals(
                List.of("-w", "-DTYPE=half", "-DN=4", "-DS=a b", "-DA=16"),
                kernels.getLast().options());
        touch("x.cl", "y.cl");
        assertEquals(
                List.of("x-T=1", "x-T=2", "y-T=1", "y-T=2"),
                names("[[kernel]]\nsource = '?.cl'\ndefine.T = [1, 2]"));
        assertEquals(List.of("k"), names(kernel("source = 'a.cl'\ndefine = {}")));
        assertEquals(List.of("k-T=1"), names(kernel("source = 'a.cl'\n[kernel.define]\nT = [1]")));
    }

    @Test
    @DisplayName("Defaults are inherited: lists are extended, macros and other values replaced")
    void defaults() throws Exception {
        List<KernelSpec> kernels = read("""
            [defaults]
            include = ["common"]
            options = "-cl-std=CL1.2 -I more -D A=1"
            define = { TILE = [8, 16], TYPE = "float" }
            geometry = { global = [64] }
            tag = "t"
            extra-digest = "d"

            [[kernel]]
            name = "plain"
            source = "p.cl"

            [[kernel]]
            name = "own"
            source = "o.cl"
            include = ["own"]
            options = "-D A=2"
            define = { TILE = 4, MORE = 1, TYPE = false }
            launch = [{ kernel = "o", global = [7] }]
            tag = ""
            extra-digest = "e"
            """);
        KernelSpec plain = kernels.getFirst();
        assertEquals(3, kernels.size());
        assertEquals(
                new KernelSpec(
                        "plain-TILE=8",
                        file + ":9",
                        List.of(directory.resolve("p.cl")),
                        List.of(directory.resolve("common"), directory.resolve("more")),
                        List.of("-cl-std=CL1.2", "-DA=1", "-DTILE=8", "-DTYPE=float"),
                        List.of(),
                        List.of(new Launch("*", Geometry.of(64))),
                        "t",
                        "d",
                        Optional.empty()),
                plain);
        assertEquals(
                new KernelSpec(
                        "own",
                        file + ":13",
                        List.of(directory.resolve("o.cl")),
                        List.of(
                                directory.resolve("own"),
                                directory.resolve("common"),
                                directory.resolve("more")),
                        List.of("-cl-std=CL1.2", "-DA=1", "-DA=2", "-DTILE=4", "-DMORE=1"),
                        List.of(),
                        List.of(new Launch("o", Geometry.of(7))),
                        "",
                        "e",
                        Optional.empty()),
                kernels.getLast());
        assertEquals(
                List.of(),
                read("[defaults]\ngeometry = { global = [64] }\n"
                                + kernel("source = 'a'\nlaunch = []"))
                        .getFirst()
                        .launches());
    }

    @Test
    @DisplayName("Included manifests come first, with paths and defaults of their own")
    void included() throws Exception {
        Files.createDirectories(directory.resolve("team"));
        Files.writeString(
                directory.resolve("team/a.toml"),
                "include-manifests = ['../b.toml']\n[defaults]\noptions = '-w'\n"
                        + "[[kernel]]\nname = 'a'\nsource = 'a.cl'\n");
        Files.writeString(directory.resolve("b.toml"), "[[kernel]]\nname='b'\nsource='b.cl'\n");
        List<KernelSpec> kernels = read("include-manifests = ['team/a.toml']\n[defaults]\n"
                + "options = '-Werror'\n" + kernel("source = 'k.cl'"));
        assertEquals(
                List.of("b [] b.cl", "a [-w] team/a.cl", "k [-Werror] k.cl"),
                kernels.stream()
                        .map(kernel -> kernel.name() + " " + kernel.options() + " "
                                + directory.relativize(kernel.sources().getFirst()))
                        .toList());
        assertEquals(List.of("b"), names("include-manifests = ['b.toml']"));
        assertError(
                "include-manifests = ['b.toml']\n[[kernel]]\nname='b'\nsource='b.cl'\n",
                ":2:1",
                "'b' is used twice");
    }

    @Test
    @DisplayName("A manifest that includes itself, or is included twice, is an error that names it")
    void circles() throws Exception {
        Files.createDirectories(directory.resolve("d"));
        Path a = directory.resolve("d/a.toml");
        Path b = directory.resolve("b.toml");
        Files.writeString(a, "\ninclude-manifests = ['../b.toml']");
        Files.writeString(b, "include-manifests = ['kernels.toml']");
        Files.writeString(file, "include-manifests = ['d/a.toml']");
        String circle = error("include-manifests = ['d/a.toml']");
        assertEquals(
                b + ":1:1: the manifest " + file + " is included twice, or includes itself.",
                circle);
        assertError(
                "include-manifests = ['./kernels.toml']",
                ":1:1",
                "the manifest " + file + " is included twice, or includes itself");
        Files.writeString(b, "[[kernel]]\nname='b'\nsource='b.cl'\n");
        Files.createSymbolicLink(directory.resolve("link.toml"), b);
        assertError(
                "include-manifests = ['d/a.toml', 'link.toml']",
                ":1:1",
                "the manifest " + directory.resolve("link.toml") + " is included twice");
    }

    @Test
    @DisplayName("Errors of an included manifest name the line that is wrong")
    void errorsOfIncluded() throws Exception {
        assertError(
                "\ninclude-manifests = ['missing.toml']",
                ":2:1",
                "missing.toml cannot be read: there is no such file");
        assertError("include-manifests = ['.']", ":1:1", " is not a file");
        assertError("include-manifests = ['/dev/zero']", ":1:1", "/dev/zero is not a file");
        assertError("include-manifests = ''", ":1:1", "must be a list of strings");
        assertError("include-manifests = []", " has no kernel");
        assertError("include-manifests = [\"a\\u0000\"]", ":1:1", "is not a path");
        Path b = Files.writeString(directory.resolve("b.toml"), "[[kernel]]\n\nname = 5");
        assertTrue(error("include-manifests = ['b.toml']").startsWith(b + ":3:1: name must be"));
        Files.writeString(b, "[defaults]\ntag = 't'");
        assertEquals(
                b + " has no kernel: add a [[kernel]] table with name and source.",
                error("include-manifests = ['b.toml']"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[defaults]\\nentry = ['k']|:2:1|unknown key 'entry'; [defaults] has define,"
                        + " extra-digest, geometry, include, options, tag",
                "defaults = 5|:1:1|defaults must be a table such as [defaults]",
                "[[defaults]]|:1:1|defaults must be a table",
                "[defaults]\\noptions = '-D'|:2:1|needs a value",
                "[defaults]\\ngeometry = { global = [0] }|:2:1|must be positive",
                "[defaults]\\ndefine = { A = 0.5 }|:2:12|A must be a string, a whole number, true",
            })
    @DisplayName("An error of defaults is reported with its place, even if no kernel inherits it")
    void errorsOfDefaults(String text, String place, String part) throws Exception {
        assertError(text.replace("\\n", "\n") + "\n" + kernel("source = 'a'"), place, part);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "source = '*.cl'|:3:1|no file matches '*.cl' below ",
                "source = 'missing/**'|:3:1|/missing.",
                "source = ['a.cl', '*.cl']|:3:1|no file matches '*.cl'",
                "source = '*/[.cl'|:3:1|the pattern '*/[.cl' is wrong: ",
                "source = '{a/b,*}.cl'|:3:1|is wrong: ",
                "source = '*/../a.cl'|:3:1|'..' follows a wildcard",
                "source = \"\\u0000/*\"|:3:1|source is not a path",
                "source = \"*\\u0000\"|:3:1|no file matches",
                "source = 'a'\\ndefine = 5|:4:1|define must be a table such as { TILE",
                "source = 'a'\\ndefine = { A = [] }|:4:12|A has no value",
                "source = 'a'\\ndefine = { A = [1, 2, 1] }|:4:12|A has the value '1' twice",
                "source = 'a'\\ndefine = { A = [1, '1'] }|:4:12|A has the value '1' twice",
                "source = 'a'\\ndefine = { A = [[1]] }|:4:12|A must be a string",
                "source = 'a'\\ndefine = { A = 1979-05-27 }|:4:12|A must be a string",
                "source = 'a'\\ndefine = { 'A=1 -DB' = 1 }|:4:12|'A=1 -DB' is not the name of a",
                "source = 'a'\\ndefine = { A = \"\\n\" }|:4:12|one line of at most 200 characters",
            })
    @DisplayName("An error of a pattern or of define is reported with its place and its cure")
    void errors(String keys, String place, String part) throws Exception {
        assertError(kernel(keys.replace("\\nd", "\nd")), place, part);
    }

    @Test
    @DisplayName("A pattern whose files have one name, or a directory without rights, is an error")
    void sameName() throws Exception {
        touch("a.cl", "a.ocl");
        assertError("[[kernel]]\nsource = '*.*cl'", ":1:1", "the name 'a' is used twice");
        assertFalse(error("[[kernel]]\nsource = '*.none'").contains("Exception"));
    }

    @Test
    @DisplayName("A short manifest does not make a million kernels, nor read everything")
    void limits() throws Exception {
        String ten = IntStream.range(0, 10)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(", ", "[", "]"));
        assertError(
                kernel("source = 'a'\ndefine = { A = " + ten + ", B = " + ten + ", C = " + ten
                        + ", D = " + ten + ", E = [1, 2] }"),
                ":1:1",
                "patterns and define make more than 10000 kernels, 20000 of them here");
        String axes = IntStream.range(0, 90)
                .mapToObj(i -> "M" + i + " = [1, 2]")
                .collect(Collectors.joining(", "));
        assertError(kernel("source = 'a'\ndefine = { " + axes + " }"), ":1:1", "2147483647 of");
        for (int i = 0; i < 101; i++) {
            Files.writeString(
                    directory.resolve("m" + i + ".toml"),
                    "include-manifests = ['m" + (i + 1) + ".toml']");
        }
        assertTrue(error("include-manifests = ['m0.toml']").contains("more than 100 manifests"));
    }

    @Test
    @DisplayName("Patterns that reach too many files end early, whatever their number")
    void tooManyFiles() throws Exception {
        for (int i = 0; i < 500; i++) {
            Files.createFile(directory.resolve("f" + i));
        }
        String text = IntStream.range(0, 500)
                .mapToObj(i -> "[[kernel]]\nname = 'k" + i + "'\nsource = ['*']\n")
                .collect(Collectors.joining());
        String message = error(text);
        assertTrue(
                message.contains("patterns reach more than 200000 files, here below " + directory)
                        && message.contains("name a smaller directory"),
                message);
    }
}
