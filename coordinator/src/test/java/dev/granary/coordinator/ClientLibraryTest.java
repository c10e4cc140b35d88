package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/** Tests of programs that have only some of the optional libraries. */
class ClientLibraryTest {
    @Test
    @DisplayName("without the optional libraries the AWS SDK works, and client minio is a mistake"
            + " whose message names the dependencies")
    void withoutMinio(@TempDir Path directory) throws Exception {
        // the MinIO client and the embedded server, with what only they need
        List<String> missing = List.of(
                "minio",
                "okhttp",
                "okio",
                "jackson",
                "kotlin",
                "s3proxy",
                "simple-xml",
                "guava",
                "bcprov",
                "commons-",
                "snappy");
        List<String> lines = ChildJvm.of(ClientLibraryProcess.class)
                .directory(directory)
                .classPath(part -> missing.stream()
                        .noneMatch(
                                library -> String.valueOf(part.getFileName()).startsWith(library)))
                .run()
                .lines()
                .stream()
                .filter(line -> line.startsWith("aws: ") || line.startsWith("minio: "))
                .toList();
        assertEquals("aws: opened, s3://kernels at http://127.0.0.1:1", lines.getFirst());
        assertTrue(
                lines.get(1)
                        .startsWith(
                                "minio: The client of s3://kernels at http://127.0.0.1:1 is minio,"
                                        + " but its library is missing; add io.minio:minio"),
                lines::toString);
    }
}
