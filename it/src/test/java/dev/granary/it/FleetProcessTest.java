package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Tests of fleets of real processes, each with a directory of its own, over one bucket. */
class FleetProcessTest {
    @TempDir
    private Path directory = Path.of("");

    /** A process that waits for a line of input before its lookups. */
    private record Machine(Process process, BufferedReader output) {
        void awaitReady() throws IOException {
            assertEquals("ready", output.readLine());
        }

        void begin() throws IOException {
            process.outputWriter(UTF_8).append('\n').flush();
        }

        /** Returns the milliseconds, the found and the compiled kernels. */
        List<Integer> end() throws Exception {
            String line = output.readLine();
            assertNotNull(line, "a machine ended without a result");
            assertEquals(0, process.waitFor());
            return List.of(line.split(" ")).stream().map(Integer::valueOf).toList();
        }
    }

    /** Starts machines at once, and waits until all are ready. */
    private List<Machine> start(EmbeddedS3 server, int machines, int kernels, int millis)
            throws IOException, InterruptedException {
        List<Machine> fleet = new ArrayList<>();
        for (int i = 0; i < machines; i++) {
            fleet.add(start(server, "machine-" + i, kernels, millis));
        }
        for (Machine machine : fleet) {
            machine.awaitReady();
        }
        return fleet;
    }

    private Machine start(EmbeddedS3 server, String name, int kernels, int millis)
            throws IOException, InterruptedException {
        Map<String, String> variables = Map.of(
                "GRANARY_DIR", directory.resolve(name).toString(),
                "GRANARY_BUCKET", "s3://kernels/fleet-" + kernels,
                "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                "GRANARY_BUCKET_WAIT", "1h", // all share the cores of one machine
                "AWS_ACCESS_KEY_ID", server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                "AWS_REGION", "us-east-1");
        Process process = GranaryProcess.jvm(FleetProcess.class, directory, variables)
                .start(
                        directory.resolve("compiles").toString(),
                        Integer.toString(kernels),
                        Integer.toString(millis));
        return new Machine(process, process.inputReader(UTF_8));
    }

    private Map<String, Long> compiles() throws IOException {
        return Files.readAllLines(directory.resolve("compiles")).stream()
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    private void prepare(int machines, int kernels, int millis, int most) throws Exception {
        Files.createFile(directory.resolve("compiles"));
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            List<Machine> fleet = start(server, machines, kernels, millis);
            server.resetRequests();
            for (Machine machine : fleet) {
                machine.begin();
            }
            int slowest = 0;
            for (Machine machine : fleet) {
                List<Integer> end = machine.end();
                assertEquals(kernels, end.get(1) + end.get(2));
                slowest = Math.max(slowest, end.getFirst());
            }
            long all = compiles().values().stream().mapToLong(Long::longValue).sum();
            long alone = (long) kernels * millis / Runtime.getRuntime().availableProcessors();
            System.out.println("granary.fleet: " + machines + " machines, " + kernels
                    + " kernels of " + millis + " ms: " + all + " compiles, slowest " + slowest
                    + " ms, one machine alone " + alone + " ms; "
                    + server.requests().put() + " PUT, " + server.requests().get() + " GET");
            assertEquals(kernels, compiles().size());
            assertTrue(all <= most, () -> all + " compiles");
        }
    }

    @Test
    @DisplayName("4 machines that prepare 8 absent kernels at once compile each kernel once")
    void fleet() throws Exception {
        prepare(4, 8, 3000, 8);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "64 machines on the cores of one that prepare 50 absent kernels compile at most 100")
    void largeFleet() throws Exception {
        prepare(64, 50, 5000, 100); // 3,200 without claims; two cores delay what 64 publish
    }

    @Test
    @DisplayName("A killed machine costs at most one more compile; the others get all kernels")
    void killed() throws Exception {
        int kernels = 6;
        int kills = 1;
        Files.createFile(directory.resolve("compiles"));
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            List<Machine> fleet = start(server, 3, kernels, 3000);
            for (Machine machine : fleet.subList(0, kills)) {
                machine.begin();
            }
            // it compiles as many as it has processors
            Await.holds(() -> !compiles().isEmpty());
            for (Machine machine : fleet.subList(kills, fleet.size())) {
                machine.begin();
            }
            for (Machine machine : fleet.subList(0, kills)) {
                machine.process().destroyForcibly().waitFor();
            }
            for (Machine machine : fleet.subList(kills, fleet.size())) {
                List<Integer> end = machine.end();
                assertEquals(kernels, end.get(1) + end.get(2));
            }
            assertEquals(kernels, compiles().size());
            compiles()
                    .forEach((kernel, times) -> assertTrue(
                            times <= 1 + kills, () -> kernel + ": " + times + " compiles"));
        }
    }
}
