package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Tests that a temporary directory is deleted, however the process ends. */
class TemporaryDirectoryTest {
    /** Process that creates a directory with a file, starts a child, prints both, and waits. */
    static final class Waiting {
        public static void main(String[] arguments) throws Exception {
            try (TemporaryDirectory directory = new TemporaryDirectory("granary-test-")) {
                Files.writeString(directory.path().resolve("file"), "content");
                Process child = new ProcessBuilder("sleep", "600").start();
                System.out.println(directory.path());
                System.out.println(child.pid());
                System.out.flush();
                child.waitFor();
            }
        }
    }

    @Test
    @DisplayName(
            "Ctrl-C: a terminated process deletes its directory, and kills its child processes")
    void terminated() throws Exception {
        Process process = ChildJvm.of(Waiting.class).start();
        try (BufferedReader output = process.inputReader()) {
            Path directory = Path.of(Objects.requireNonNull(output.readLine()));
            long child = Long.parseLong(Objects.requireNonNull(output.readLine()));
            assertTrue(Files.exists(directory.resolve("file")));
            process.destroy(); // SIGTERM, which the JVM handles like Ctrl-C
            assertTrue(process.waitFor(600, TimeUnit.SECONDS));
            assertTrue(Files.notExists(directory), "the directory is left");
            assertFalse(
                    ProcessHandle.of(child).filter(ProcessHandle::isAlive).isPresent(),
                    "the child is alive");
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    @DisplayName("it is deleted when it is closed, and another can be created after it")
    void closed() throws Exception {
        for (int i = 0; i < 2; i++) {
            TemporaryDirectory directory = new TemporaryDirectory("granary-test-");
            Files.writeString(
                    Files.createDirectory(directory.path().resolve("below")).resolve("file"),
                    "content");
            directory.close();
            assertEquals(List.of(false), List.of(Files.exists(directory.path())));
        }
    }
}
