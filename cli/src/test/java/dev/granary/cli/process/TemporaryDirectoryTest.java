package dev.granary.cli.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The directory of the demo goes, however the process ends. */
class TemporaryDirectoryTest {
    /** Makes a directory with a file, starts a process, tells both, and waits. */
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
    @DisplayName("U10 Ctrl-C: a process that is told to end removes its directory, and the processes that it started")
    void toldToEnd() throws Exception {
        Process process = new ProcessBuilder(JvmCommand.command(Waiting.class)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader told = process.inputReader()) {
            Path directory = Path.of(Objects.requireNonNull(told.readLine()));
            long child = Long.parseLong(Objects.requireNonNull(told.readLine()));
            assertTrue(Files.exists(directory.resolve("file")));
            process.destroy(); // SIGTERM, which the JVM takes as it takes Ctrl-C
            assertTrue(process.waitFor(600, TimeUnit.SECONDS));
            assertTrue(Files.notExists(directory), "the directory is left");
            assertFalse(ProcessHandle.of(child).filter(ProcessHandle::isAlive).isPresent(), "the child works on");
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    @DisplayName("it goes when it is closed, and another may be made and closed after it")
    void closed() throws Exception {
        for (int i = 0; i < 2; i++) {
            TemporaryDirectory directory = new TemporaryDirectory("granary-test-");
            Files.writeString(Files.createDirectory(directory.path().resolve("below")).resolve("file"), "content");
            directory.close();
            assertEquals(List.of(false), List.of(Files.exists(directory.path())));
        }
    }
}
