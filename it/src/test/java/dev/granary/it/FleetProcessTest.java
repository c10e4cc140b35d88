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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Tests of fleets of real processes, each with a directory of its own, over one layer. */
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

    /** The layer that a fleet shares. */
    private interface Place extends AutoCloseable {
        Map<String, String> variables();

        default String requests() {
            return "";
        }

        @Override
        default void close() {}
    }

    private Place bucket() throws IOException {
        EmbeddedS3 server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        return new Place() {
            @Override
            public Map<String, String> variables() {
                return Map.of(
                        "GRANARY_BUCKET", "s3://kernels/fleet",
                        "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                        "AWS_ACCESS_KEY_ID", server.accessKey(),
                        "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                        "AWS_REGION", "us-east-1");
            }

            @Override
            public String requests() {
                return "; " + server.requests().put() + " PUT, "
                        + server.requests().get() + " GET";
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }

    private Place shared() {
        String address = "file://" + directory.resolve("shared");
        return () -> Map.of("GRANARY_BUCKET", address);
    }

    /** Starts machines at once, and waits until all are ready. */
    private List<Machine> start(Place place, int machines, int kernels, int millis)
            throws IOException, InterruptedException {
        return start(place, machines, kernels, millis, machines);
    }

    /** Starts machines, so many at once, and waits until all are ready. */
    private List<Machine> start(Place place, int machines, int kernels, int millis, int atOnce)
            throws IOException, InterruptedException {
        List<Machine> fleet = new ArrayList<>();
        for (int i = 0; i < machines; i++) {
            Map<String, String> variables = new HashMap<>(place.variables());
            variables.put("GRANARY_DIR", directory.resolve("machine-" + i).toString());
            variables.put("GRANARY_BUCKET_WAIT", "1h"); // all share the cores of one machine
            Process process = GranaryProcess.jvm(FleetProcess.class, directory, variables)
                    .start(
                            directory.resolve("compiles").toString(),
                            Integer.toString(kernels),
                            Integer.toString(millis),
                            Boolean.toString(atOnce < machines));
            fleet.add(new Machine(process, process.inputReader(UTF_8)));
            if (fleet.size() % atOnce == 0) {
                for (Machine machine : fleet.subList(fleet.size() - atOnce, fleet.size())) {
                    machine.awaitReady();
                }
            }
        }
        return fleet;
    }

    private Map<String, Long> compiles() throws IOException {
        return Files.readAllLines(directory.resolve("compiles")).stream()
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    private void prepare(Place shared, int machines, int kernels, int millis, int most)
            throws Exception {
        prepare(shared, machines, kernels, millis, machines, most);
    }

    private void prepare(Place shared, int machines, int kernels, int millis, int atOnce, int most)
            throws Exception {
        Files.createFile(directory.resolve("compiles"));
        try (Place place = shared) {
            List<Machine> fleet = start(place, machines, kernels, millis, atOnce);
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
                    + " ms, one machine alone " + alone + " ms" + place.requests());
            assertEquals(kernels, compiles().size());
            assertTrue(all <= most, () -> all + " compiles");
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("8 machines that have run for a while divide 24 kernels")
    void divided() throws Exception {
        prepare(bucket(), 8, 24, 4000, 4, 26);
    }

    @Test
    @DisplayName("3 machines that prepare 6 absent kernels at once compile each kernel once")
    void fleet() throws Exception {
        prepare(bucket(), 3, 6, 3000, 6);
    }

    @Test
    @Tag("exhaustive") // by default with one that is killed
    @DisplayName("3 machines with a shared directory compile each of 6 absent kernels once")
    void sharedDirectory() throws Exception {
        prepare(shared(), 3, 6, 3000, 6);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same with 8 machines and 16 kernels")
    void sharedDirectoryOfEight() throws Exception {
        prepare(shared(), 8, 16, 3000, 16);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("64 machines on the cores of one that prepare 50 absent kernels at once compile"
            + " at most 100")
    void largeFleet() throws Exception {
        prepare(bucket(), 64, 50, 5000, 4, 100); // two cores let some requests end too late
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("64 machines with a shared directory compile each of 50 absent kernels once, but"
            + " for a tenth")
    void largeSharedDirectory() throws Exception {
        prepare(shared(), 64, 50, 5000, 4, 55);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("Kernels that compile for longer than the wait for an unknown time, which nobody"
            + " has compiled before, are compiled twice at most")
    void unknownTimes() throws Exception {
        prepare(shared(), 16, 24, 20_000, 48);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("A killed machine costs at most one more compile; the others get all kernels")
    void killed() throws Exception {
        killed(bucket());
    }

    @Test
    @DisplayName("A killed machine with a shared directory costs at most one more compile; the"
            + " others get all kernels")
    void killedInSharedDirectory() throws Exception {
        killed(shared());
    }

    private void killed(Place shared) throws Exception {
        int kernels = 6;
        int kills = 1;
        Files.createFile(directory.resolve("compiles"));
        try (Place place = shared) {
            List<Machine> fleet = start(place, 3, kernels, 3000);
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
