package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;

/** Tests of the process that records the ahead-of-time cache. */
class AotCacheBuilderTest {
    private static Process shell(String command) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/bin/sh")), "no /bin/sh");
        return new ProcessBuilder("/bin/sh", "-c", command).start();
    }

    @Test
    @DisplayName("An interrupt ends the process before its directory is deleted")
    void interrupted() throws Exception {
        Process process = shell("exec sleep 600");
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> AotCacheBuilder.awaitEnd(process));
        assertFalse(process.isAlive());
    }

    @Test
    @DisplayName("The exit code of the process is returned")
    void ended() throws Exception {
        assertEquals(3, AotCacheBuilder.awaitEnd(shell("exit 3")));
    }
}
