package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.granary.gpu.opencl.NeedsPocl;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Tests of the files and lines that a real driver's log names for a program of several files. */
@NeedsPocl
class SourceLinesTest {
    private static final Map<String, String> LINE_ENDINGS =
            Map.of("none", "", "newline", "\n", "pair", "\r\n", "blank", "\n\n");

    private final Path directory;

    SourceLinesTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private void write(String file, String text) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    @Test
    @DisplayName("an error is in the user's file and line, for each file of a program, also"
            + " after one that does not end its last line, and in their headers")
    void everyFile() throws Exception {
        for (Map.Entry<String, String> ending : LINE_ENDINGS.entrySet()) {
            write("one-" + ending.getKey() + ".cl", "/* one line */" + ending.getValue());
        }
        write("src/two.cl", "int two(void);\nbroken_two a;\n");
        write("src/three.h", "\n\nbroken_header b;\n");
        write("src/three.cl", "#include \"three.h\"\n\n    broken_three c;\n");
        StringBuilder manifest = new StringBuilder();
        for (String name : LINE_ENDINGS.keySet()) {
            manifest.append("""
                    [[kernel]]
                    name = "%s"
                    source = ["one-%s.cl", "src/two.cl", "src/three.cl"]
                    """.formatted(name, name));
        }
        write("kernels.toml", manifest.toString());
        Cli run = Cli.run(
                        "get",
                        "--dir",
                        directory.resolve("local").toString(),
                        directory.resolve("kernels.toml").toString(),
                        "--verbose")
                .exits(1)
                .reports(
                        directory.resolve("src/two.cl") + ":2:1: error:",
                        directory.resolve("src/three.h") + ":3:1: error:",
                        directory.resolve("src/three.cl") + ":3:5: error:");
        assertFalse(run.err().contains("one-"), run.err());
        for (String line : List.of("two.cl:2:1", "three.h:3:1", "three.cl:3:5")) {
            assertEquals(
                    LINE_ENDINGS.size(),
                    run.err()
                            .lines()
                            .filter(each -> each.contains(line + ": error:"))
                            .count(),
                    run.err());
        }
    }
}
