package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.manifest.KernelSources;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Tests of build logs as shown to users. */
class BuildLogTest {
    private static final String TREE = "/tmp/granary-headers-123456/i/i/i/i/i/i/i/";
    private static final KernelSources SOURCES = new KernelSources(
            Path.of("/home/me/kernels/scale.cl"),
            Map.of(
                    "detail/factor.h",
                    Path.of("/home/me/kernels/detail/factor.h"),
                    "../common.h",
                    Path.of("/home/me/common.h")));

    private static List<String> shown(String log) {
        return new BuildLog(log, SOURCES).lines(BuildLog.MAX_LINES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/var/tmp/pocl/tempfile-7a-3f.cl", "<kernel>", "1", "input.cl"})
    @DisplayName("the driver's name of the source is replaced by the user's, with line and column")
    void source(String driversName) {
        assertEquals(
                List.of(
                        "/home/me/kernels/scale.cl:3:5: error: use of undeclared identifier 'x'",
                        "    x = 1;",
                        "    ^"),
                shown(driversName
                        + ":3:5: error: use of undeclared identifier 'x'\n    x = 1;\n    ^\n"));
        assertEquals(
                List.of("/home/me/kernels/scale.cl:3:5: error: no"),
                shown("error: " + driversName + ":3:5: error: no"));
        assertEquals(
                List.of("/home/me/kernels/scale.cl:3:5: error: as PoCL formats it"),
                shown("error: " + driversName + ":3:5: as PoCL formats it"));
    }

    @Test
    @DisplayName(
            "headers in the temporary tree are shown as the user's, beside and above the source")
    void headers() {
        assertEquals(
                List.of(
                        "In file included from /home/me/kernels/scale.cl:1:",
                        "In file included from /home/me/common.h:2:",
                        "/home/me/kernels/detail/factor.h:9:1: fatal error: expected"),
                shown("In file included from /tmp/tempfile-1.cl:1:\nIn file included from " + TREE
                        + "common.h:2:\n" + TREE
                        + "i/detail/factor.h:9:1: fatal error: expected\n"));
    }

    @Test
    @DisplayName(
            "at most 20 lines of a kernel, errors before warnings, the rest counted; the whole log"
                    + " on request")
    void bounded() {
        String warnings = IntStream.range(0, 1000)
                .mapToObj(i -> "t.cl:" + (i + 1) + ":1: warning: " + i + "\n    code")
                .collect(Collectors.joining("\n"));
        String log = warnings
                + "\n"
                + "t.cl:7:1: error: the one that matters\n"
                + "    wrong;\n"
                + "t.cl:6:1: note: declared here\n"
                + "2 warnings generated.\n";
        List<String> shown = shown(log);
        assertEquals(BuildLog.MAX_LINES, shown.size());
        assertEquals(
                "/home/me/kernels/scale.cl:7:1: error: the one that matters", shown.getFirst());
        assertEquals("/home/me/kernels/scale.cl:6:1: note: declared here", shown.get(2));
        assertEquals("... and 1,985 more lines; --verbose shows all", shown.getLast());
        List<String> whole = new BuildLog(log, SOURCES).lines(Integer.MAX_VALUE);
        assertEquals(2004, whole.size());
        assertTrue(whole.getFirst().startsWith("/home/me/kernels/scale.cl:1:1: warning"));
    }

    @Test
    @DisplayName("a line of a program of several files is shown as that of its file")
    void severalFiles() {
        NavigableMap<Integer, Path> files =
                new TreeMap<>(Map.of(1, Path.of("/k/a.cl"), 4, Path.of("/k/b.cl")));
        assertEquals(
                List.of(
                        "/k/a.cl:3:2: error: at the end of the first",
                        "/k/b.cl:1:2: error: at the start of the second",
                        "/k/b.cl:97: warning: far below"),
                new BuildLog("""
                        x.cl:3:2: error: at the end of the first
                        x.cl:4:2: error: at the start of the second
                        x.cl:100: warning: far below
                        """, new KernelSources(files, Map.of())).lines(Integer.MAX_VALUE));
    }

    @Test
    @DisplayName("a log without locations, or an empty one, is shown unchanged")
    void plain() {
        assertEquals(
                List.of("ptxas fatal: out of registers"), shown("ptxas fatal: out of registers"));
        assertEquals(List.of(), shown(""));
        assertEquals(
                List.of("In file included from /home/me/kernels/scale.cl:1:"),
                shown("In file included from x.cl:1:"));
    }
}
