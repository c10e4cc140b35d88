package dev.granary.benchmarks.bucket.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Tests of the processes of a bucket benchmark: each has a limit of time. */
@Timeout(60) // the processes would run for an hour
class BucketWorkspaceTest {
    private static final Duration SHORT = Duration.ofMillis(100);
    // two processes: the shell waits for the other, which has its output, too
    private static final String ENDLESS = "sleep 3600; true";

    private final Path directory;

    BucketWorkspaceTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @BeforeEach
    void requireShell() {
        assumeTrue(Files.isExecutable(Path.of("/bin/sh")), "there is no /bin/sh");
    }

    private BucketWorkspace workspace() throws IOException {
        return BucketWorkspace.in(directory, new PrintWriter(Writer.nullWriter()));
    }

    @Test
    @DisplayName("A program that does not end is ended at its limit; the output of others is whole")
    void run() throws Exception {
        try (BucketWorkspace workspace = workspace()) {
            Map<String, String> environment = workspace.environment(Map.of());
            assertEquals(
                    "one\ntwo\n",
                    workspace
                            .run(List.of("/bin/sh", "-c", "echo one; echo two"), environment)
                            .output());
            IOException failure = assertThrows(
                    IOException.class,
                    () -> workspace.run(
                            List.of("/bin/sh", "-c", "echo begun; " + ENDLESS),
                            environment,
                            SHORT));
            assertTrue(failure.toString().contains("has not ended in PT0.1S"), failure::toString);
        }
    }

    @Test
    @DisplayName("A script whose server does not start is ended at its limit")
    void script() throws Exception {
        Path script = Files.writeString(directory.resolve("server"), "#!/bin/sh\n" + ENDLESS);
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        try (BucketWorkspace workspace = workspace()) {
            ServerScript.Started.Failed failed = assertInstanceOf(
                    ServerScript.Started.Failed.class,
                    ServerScript.start(
                            workspace,
                            directory,
                            "server",
                            List.of(),
                            workspace.environment(Map.of()),
                            SHORT));
            assertTrue(
                    failed.message().contains("server has not started in PT0.1S"), failed::message);
        }
    }
}
