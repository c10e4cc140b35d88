package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/** A run of the script that does what the tutorial says, in a copy of the tree. */
@Tag("exhaustive")
class TutorialTest {
    private static final int LAST_LINES = 3;

    @Test
    @DisplayName("the tutorial in an empty home: install, build the program of the page, record,"
            + " populate a bucket, and a node with an empty directory compiles nothing")
    void tutorial(@TempDir Path directory) throws Exception {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        // a copy, since the script installs: the tests run from the jars of this tree
        Path tree = LocalRepository.copySources(directory.resolve("tree"));
        Path bin = LocalRepository.mavenWith(
                List.of("-gs", LocalRepository.settings(directory).toString()),
                directory.resolve("bin"));
        Path place = directory.resolve("place");
        InstalledProgram.Result result = InstalledProgram.of(List.of(
                        "/bin/bash",
                        "-c",
                        "PATH='" + bin + "':$PATH exec it/tutorial.sh '" + place + "'"))
                .directory(tree)
                .run();
        assertEquals(0, result.exitCode(), result::toString);
        List<String> lines = result.out().strip().lines().toList();
        List<String> last = lines.subList(lines.size() - LAST_LINES, lines.size());
        assertEquals("== a node with an empty directory", last.getFirst(), result::toString);
        assertTrue(last.get(1).matches("BUCKET in \\d+ ms"), result::toString);
        assertEquals("kernels compiled on the node: 0", last.getLast(), result::toString);
        assertTrue(
                lines.stream().anyMatch(line -> line.matches("COMPILED in \\d+ ms")),
                result::toString);
        assertTrue(
                lines.stream()
                        .anyMatch(line ->
                                line.endsWith("1 published, 0 there already, 0" + " failed")),
                result::toString);
    }
}
