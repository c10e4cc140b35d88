package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.gpu.source.PreprocessedText;
import dev.granary.gpu.source.SourceText;
import dev.granary.testing.SystemTool;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Comparison of the includes of a descriptor with those of clang's preprocessor. Random sources are
 * preprocessed twice: with all headers, and with only those named by {@link PreprocessedText}. A
 * difference is a file that the compiler reads and the id does not cover.
 */
class IncludesAgainstClangTest {
    private static final int RUNS = TestRuns.count(5);
    private static final List<String> HEADERS = List.of("a", "b.h", "c/d", "e'f", "g\"h", "i");
    private static final List<String> LANGUAGES =
            List.of("-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=clc++");
    private static final List<String> PARTS = List.of(
            "#include ",
            "#",
            "%:",
            "include",
            "import ",
            "include_next ",
            "\"a\"",
            "<b.h>",
            "<c//d>",
            "\"c/d\"",
            "<e'f>",
            "<g\"h>",
            "\"i\"",
            "<i>",
            "#if 0\n",
            "#if 1\n",
            "#else\n",
            "#endif\n",
            "#ifdef __has_include\n",
            "#if defined(__has_include)\n",
            "#if __has_include(\"a\")\nYES\n#endif\n",
            "#if __has_include(<i>)\nYES\n#endif\n",
            "#if ",
            "__has_include",
            "(",
            ")",
            "\"",
            "'",
            "/*",
            "*/",
            "//",
            "\\\n",
            "\\ \n",
            "\\\f\n",
            "\\\013\n",
            "\\\n\n",
            "\n",
            "\n",
            "\n",
            " ",
            "\t",
            "\f",
            "\013",
            "\0",
            "\u00a0",
            "\u3000",
            "\ufeff",
            "R\"(",
            ")\"",
            "1'0",
            "u8'x'",
            "#define H \"a\"\n",
            "#define Q __has_include\n",
            "#include H\n",
            "#warning ",
            "#pragma mark ",
            "#pragma once\n",
            "??=",
            "??/",
            "??/\n",
            "x",
            "defined ",
            "\\",
            "<",
            ">",
            "#line 3 \"q\"\n",
            "#ident \"x\"\n",
            "_Pragma(\"once\")",
            "##",
            "#define F(x) x\n",
            "F(",
            "it's",
            "/",
            "*");

    /**
     * Sources for which an earlier scan by regular expressions missed headers; random sources are
     * rarely like them.
     */
    private static final List<String> KNOWN = List.of(
            "#incl\\\f\nude \"a\"\n",
            "#incl\\\013\nude \"a\"\n",
            "#\0include \"a\"\n",
            "\0#include \"a\"\n",
            "#if __has_include\f(\"a\")\nYES\n#endif\n",
            "\ufeff#include \"a\"\n",
            "#warning /*\n#include \"a\"\n/* */\n",
            "#pragma mark /*\n#include \"a\"\n/* */\n",
            "#include <c//d>\n");

    @TempDir
    Path directory;

    private Path all() throws IOException {
        return headers("all", HEADERS);
    }

    private Path headers(String name, List<String> present) throws IOException {
        Path made = Files.createDirectories(directory.resolve(name));
        for (String header : present) {
            Path file = made.resolve(header);
            Files.createDirectories(file.getParent());
            Files.writeString(file, "SEEN_" + HEADERS.indexOf(header) + "\n");
        }
        return made;
    }

    /**
     * Returns the output of clang's preprocessor; with the error output if it refuses the source.
     */
    private String preprocessed(String source, Path headers, String language)
            throws IOException, InterruptedException {
        Path file = Files.writeString(directory.resolve("source.cl"), source);
        Path out = directory.resolve("out");
        Process clang = new ProcessBuilder(
                        "clang",
                        "-cc1",
                        "-E",
                        "-P",
                        "-w",
                        "-x",
                        "cl",
                        language,
                        "-nostdsysteminc",
                        "-I",
                        headers.toString(),
                        file.toString())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        assertTrue(clang.waitFor(600, TimeUnit.SECONDS), "clang ends");
        return (clang.exitValue() == 0 ? "" : "refused\n")
                + Files.readString(out).replace("\r", "");
    }

    private static String random(SplittableRandom random) {
        StringBuilder text = new StringBuilder(random.nextInt(3) == 0 ? "" : "\n");
        for (int parts = random.nextInt(1, 14); parts > 0; parts--) {
            text.append(PARTS.get(random.nextInt(PARTS.size())));
        }
        // An include that is lost if the scan assumes a comment, and the end of that comment.
        return text.append(random.nextBoolean() ? "\n#include <i>\n" : "\n")
                .append(random.nextBoolean() ? "/* */\n" : "")
                .toString();
    }

    private boolean isSeen(String source, String language, Path all)
            throws IOException, InterruptedException {
        String given = SourceText.normalized(source);
        PreprocessedText directives = PreprocessedText.of(given);
        if (directives.hasComputed() || directives.unclear().isPresent()) {
            return false;
        }
        List<String> named = HEADERS.stream()
                .filter(header -> directives.names().stream()
                        .anyMatch(name -> Path.of(name.replace("\0", ""))
                                .normalize()
                                .equals(Path.of(header))))
                .toList();
        String whole = preprocessed(given, all, language);
        if (whole.startsWith("refused")) {
            return false; // a source that does not compile is never stored
        }
        if (named.size() < HEADERS.size()) {
            Path some = headers(
                    "some" + Math.floorMod(String.join("|", named).hashCode(), Integer.MAX_VALUE),
                    named);
            assertEquals(
                    whole,
                    preprocessed(given, some, language),
                    () -> language + " sees more than " + named + " of\n" + given
                            + "\nas a literal: " + literal(given));
        }
        return true;
    }

    private static String literal(String text) {
        List<String> codes = new ArrayList<>();
        text.chars()
                .forEach(c -> codes.add(
                        c >= ' ' && c < 127
                                ? String.valueOf((char) c)
                                : String.format("\\u%04x", c)));
        return String.join("", codes);
    }

    @Test
    @DisplayName("includes that an earlier scan missed are found, or the source is unclear")
    void knownSources() throws Exception {
        assumeTrue(SystemTool.run("clang", "--version"), "clang is not installed");
        Path all = all();
        int seen = 0;
        for (String source : KNOWN) {
            seen += isSeen(source, "-cl-std=CL2.0", all) ? 1 : 0;
        }
        assertEquals(7, seen, "clear and accepted by clang");
    }

    @Test
    @DisplayName("each header that clang reads is among the names, or the source is unclear")
    void random() throws Exception {
        assumeTrue(SystemTool.run("clang", "--version"), "clang is not installed");
        SplittableRandom random = TestSeed.random(getClass().getName());
        Path all = all();
        int seen = 0;
        for (int i = 0; i < RUNS; i++) {
            seen += isSeen(random(random), LANGUAGES.get(random.nextInt(LANGUAGES.size())), all)
                    ? 1
                    : 0;
        }
        System.out.println("includes against clang: " + RUNS + " sources, " + seen
                + " of them clear and accepted by clang");
    }
}
