package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.support.FileTrees;
import dev.granary.demo.Programs;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Tests of the way from a program over its recording and the bucket to another machine: the machine
 * compiles nothing. Each step is a process with a directory of its own.
 */
@ExtendWith(WithDevice.class)
@Timeout(1800)
class RecordingTest {
    private final Path directory;
    private final Path recording;

    RecordingTest(@TempDir Path directory) {
        this.directory = directory;
        this.recording = directory.resolve("developer").resolve("kernels.toml");
    }

    private Map<String, String> machine(String name, Map<String, String> variables) {
        Map<String, String> all = new HashMap<>(variables);
        all.put("GRANARY_DIR", directory.resolve(name).resolve("cache").toString());
        return all;
    }

    /** Returns the variables with those that record to a directory. */
    private Map<String, String> recordingOf(String name, Map<String, String> variables)
            throws IOException {
        Map<String, String> all = new HashMap<>(variables);
        Path file =
                Files.createDirectories(directory.resolve(name)).resolve(recording.getFileName());
        all.put("GRANARY_RECORD", file.toString());
        return all;
    }

    private String text(Path directory) throws IOException {
        return Files.readString(directory.resolve(recording.getFileName()));
    }

    /** Runs a program on a machine of its own, and returns its standard output. */
    private String run(String machine, Map<String, String> variables, String argument)
            throws IOException, InterruptedException {
        Path driverCache = Files.createTempDirectory("granary-it-pocl-");
        try {
            ChildJvm.Result result = GranaryProcess.jvm(
                            RecordedProgram.class, driverCache, machine(machine, variables))
                    .run(argument);
            assertEquals(0, result.exitCode(), result::toString);
            return result.out();
        } finally {
            FileTrees.delete(driverCache);
        }
    }

    /**
     * Records a program without a bucket, moves the recording, populates a bucket with it, and
     * returns the output of the same program on a machine with an empty directory.
     */
    private String recordedAndPopulated(String argument, int kernels) throws Exception {
        run("developer", recordingOf("developer", Map.of()), argument);
        Path repository = directory.resolve("repository");
        Files.move(recording.getParent(), repository);
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://kernels/team",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");
            GranaryProcess.Result populated = GranaryProcess.run(
                    machine("ci", online),
                    "populate",
                    repository.resolve(recording.getFileName()).toString(),
                    "--json");
            assertEquals(0, populated.exitCode(), populated::toString);
            assertEquals(kernels, populated.summary("compiled"), populated::toString);
            // a hit of the bucket, and below of the directory, is recorded as a compile is
            String node = run("node", recordingOf("node", online), argument);
            run("node", recordingOf("node again", Map.of()), argument);
            assertEquals(text(repository), text(directory.resolve("node again")));
            assertEquals(text(repository), text(directory.resolve("node")));
            return node;
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("populate of a recording of the demo's programs, then these on an empty"
            + " machine: nothing is compiled")
    void demo() throws Exception {
        int kernels = Programs.all().size();
        String node = recordedAndPopulated("demo", kernels);
        assertEquals(
                new RecordedProgram.Result(true, 0, kernels),
                RecordedProgram.Result.parse(node),
                node);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same for four programs of the demo")
    void fourOfDemo() throws Exception {
        String node = recordedAndPopulated("quick", 4);
        assertEquals(
                new RecordedProgram.Result(true, 0, 4), RecordedProgram.Result.parse(node), node);
    }

    @Test
    @Tag("exhaustive") // by default OwnEnginesTest, in one process
    @DisplayName("populate of the recording of the README's program, then this program on an"
            + " empty machine: nothing is compiled")
    void readme() throws Exception {
        String node = recordedAndPopulated("readme", 1);
        assertEquals(
                new RecordedProgram.Result(true, 0, 1), RecordedProgram.Result.parse(node), node);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("populate of the recording of composite primitives, then the same program on"
            + " an empty machine: nothing is compiled")
    void composite() throws Exception {
        String node = recordedAndPopulated("composite", 2);
        assertEquals(
                new RecordedProgram.Result(true, 0, 2), RecordedProgram.Result.parse(node), node);
    }
}
