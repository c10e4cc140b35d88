package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.s3.contract.TestS3;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Test of what the JVM and Granary print in a user's program: nothing. */
class QuietProgramTest {
    @TempDir
    private Path directory = Path.of("");

    private void assertPrints(String source, String node, Map<String, String> bucket)
            throws Exception {
        String classPath = ChildJvm.classPath().stream()
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
        InstalledProgram.Result result = InstalledProgram.java(
                        // the only flag that docs/embedding.md names for a program without LWJGL
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        classPath,
                        QuietProgram.class.getName())
                .variables(bucket)
                .variables(Map.of("GRANARY_DIR", directory.resolve(node).toString()))
                .run();
        assertEquals(0, result.exitCode(), result::toString);
        assertEquals(List.of(source), result.out().lines().toList(), result::toString);
        assertEquals("", result.err());
    }

    @Test
    @DisplayName("A program that compiles, restores, and uses a bucket has no warning of the JVM on"
            + " standard error, with either client")
    void quiet() throws Exception {
        Map<String, String> bucket = new HashMap<>(TestS3.server().environment());
        bucket.put("GRANARY_S3_CLIENT", "aws");
        assertPrints("COMPILED", "1", bucket);
        bucket.put("GRANARY_S3_CLIENT", "minio");
        assertPrints("BUCKET", "2", bucket);
    }
}
