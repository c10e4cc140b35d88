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
    @DisplayName("without the MinIO client the AWS SDK works, and client minio is a mistake whose"
            + " message names the artifact")
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
        List<String> lines = lines(directory, missing);
        assertEquals("aws: opened, s3://kernels at http://127.0.0.1:1", lines.getFirst());
        assertTrue(
                lines.get(1)
                        .startsWith(
                                "minio: The client of s3://kernels at http://127.0.0.1:1 is minio,"
                                        + " but its library is missing; add"
                                        + " dev.granary:granary-client-minio to the program, or set"
                                        + " the client to aws."),
                lines::toString);
    }

    @Test
    @DisplayName("without the S3 client of the AWS SDK the MinIO client works, and client aws is a"
            + " mistake whose message names the artifact")
    void withoutAws(@TempDir Path directory) throws Exception {
        // granary-client-minio brings auth and regions of the SDK, and what these need
        List<String> missing = List.of("s3-", "s3proxy", "apache5-client", "httpclient5", "sts-");
        assertEquals(
                List.of(
                        "aws: The client of s3://kernels at http://127.0.0.1:1 is aws, but its"
                                + " library is missing; add dev.granary:granary-client-aws to the"
                                + " program, or set the client to minio.",
                        "minio: opened, s3://kernels at http://127.0.0.1:1"),
                lines(directory, missing));
    }

    /** Runs the process without the jars whose names start so. */
    private static List<String> lines(Path directory, List<String> missing) throws Exception {
        return ChildJvm.of(ClientLibraryProcess.class)
                .shortLived()
                .directory(directory)
                .classPath(part -> missing.stream()
                        .noneMatch(
                                library -> String.valueOf(part.getFileName()).startsWith(library)))
                .run()
                .lines()
                .stream()
                .filter(line -> line.startsWith("aws: ") || line.startsWith("minio: "))
                .toList();
    }
}
