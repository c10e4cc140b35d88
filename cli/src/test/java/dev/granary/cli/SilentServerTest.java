package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.SilentServer;
import dev.granary.coordinator.UncheckedCredentials;
import dev.granary.gpu.opencl.OpenCl;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Tests of the commands, with default limits, against a server that accepts connections and stays
 * silent.
 */
@ExtendWith(UncheckedCredentials.class)
class SilentServerTest {
    /** Far longer than any limit: only a command that hangs takes this long. */
    private static final long HANG_SECONDS = 600;

    /**
     * The second one occurs if the machine is so busy that a request reaches its deadline first,
     * the others if the lookup stopped waiting before the request ended, could be sent, or the
     * client was loaded.
     */
    private static final List<String> CAUSES = List.of(
            "no complete response within the time limits",
            "timeout configuration: 8000 millis",
            "no answer within ",
            "the lookup had no time left for a request",
            "its client is still starting");

    private final Path directory;

    SilentServerTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @Test
    @DisplayName("a silent server: get, ls, stats and compact end by themselves, with their exit"
            + " codes, and one line with the cause and no other")
    void silent() throws Exception {
        Map<String, Cli> ended = end("get", "get, only reading", "ls", "stats", "compact");
        assertTrue(Objects.requireNonNull(ended.get("get")).out().contains("1 compiled"));
    }

    @Test
    @Tag("exhaustive") // warm tries for 30 s
    @DisplayName("the same for warm and populate, which compiles nothing before it has the bucket")
    void silentTransfers() throws Exception {
        end("warm", "populate");
        assertTrue(Files.notExists(directory.resolve("local of populate")));
    }

    /** Runs these commands at once, and returns their results. */
    private Map<String, Cli> end(String... names) throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a) { a[get_global_id(0)] += 1.0f; }\n");
        String manifest = Files.writeString(
                        directory.resolve("kernels.toml"),
                        "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n")
                .toString();
        String target = "opencl/somebody-has";
        Map<String, List<String>> commands = new LinkedHashMap<>();
        commands.put("get", List.of("get", manifest));
        commands.put("get, only reading", List.of("get", manifest, "--require-bucket"));
        commands.put("ls", List.of("ls", "s3://kernels/ci"));
        commands.put("stats", List.of("stats", "s3://kernels/ci"));
        commands.put("warm", List.of("warm", "--target", target));
        commands.put("populate", List.of("populate", manifest));
        commands.put("compact", List.of("compact", "--target", target));
        commands.keySet().retainAll(List.of(names));
        Map<String, Future<Cli>> running = new LinkedHashMap<>();
        Map<String, Cli> results = new HashMap<>();
        try (SilentServer silent = new SilentServer();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            String endpoint = silent.endpoint();
            commands.forEach((name, arguments) -> {
                List<String> all = new ArrayList<>(arguments);
                String bucket =
                        "s3://kernels/ci" + (name.contains("reading") ? "?access=read" : "");
                all.addAll(List.of("--endpoint", endpoint));
                if (!arguments.contains("s3://kernels/ci")) {
                    all.addAll(List.of(
                            "--dir", directory.resolve("local of " + name).toString()));
                    if (!name.equals("compact")) {
                        all.add("--bucket");
                    }
                    all.add(bucket);
                }
                running.put(name, threads.submit(() -> Cli.run(all.toArray(String[]::new))));
            });
            for (Map.Entry<String, Future<Cli>> command : running.entrySet()) {
                Cli ended = command.getValue().get(HANG_SECONDS, TimeUnit.SECONDS);
                ended.exits(command.getKey().equals("get") ? 0 : 1).reports("s3://kernels/ci");
                assertTrue(CAUSES.stream().anyMatch(ended.err()::contains), ended::toString);
                assertEquals(1, ended.err().lines().count(), () -> command.getKey() + ": " + ended);
                results.put(command.getKey(), ended);
            }
        }
        return results;
    }
}
