package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tests of the training runs of the ahead-of-time caches. */
class TrainingRunTest {
    @Test
    @Tag("exhaustive")
    @DisplayName("the commands of the training runs succeed: a file goes through a bucket, else the"
            + " caches would lack the classes of buckets without a sign")
    void commandsSucceed(@TempDir Path directory) throws IOException, InterruptedException {
        Path granary = Files.writeString(directory.resolve("granary"), """
                #!/bin/sh
                '%s/bin/java' %s -cp '%s' --enable-native-access=ALL-UNNAMED \\
                  "$RECORD_AOT" "$@" 2>&1 | tee -a '%s/log'
                """.formatted(
                        System.getProperty("java.home"),
                        String.join(" ", ChildJvm.SHORT_RUN),
                        System.getProperty("java.class.path"),
                        directory));
        assertTrue(granary.toFile().setExecutable(true));

        Process recording = new ProcessBuilder("../package/record", granary.toString())
                .inheritIO()
                .start();
        assertEquals(0, recording.waitFor());

        String log = Files.readString(directory.resolve("log"));
        assertTrue(log.contains("1 published"), log);
        assertTrue(log.contains("fetched 1 file"), log);
        assertTrue(log.contains("\"requests\""), log);
    }
}
