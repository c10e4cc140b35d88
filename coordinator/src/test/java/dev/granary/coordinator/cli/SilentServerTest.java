package dev.granary.coordinator.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.opencl.OpenCl;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands, with the limits that users have, against a server that accepts connections and stays silent. */
class SilentServerTest {
    /** Far beyond any limit: only a command that hangs takes so long. */
    private static final long HANG_SECONDS = 600;

    private static final int MANY_CONNECTIONS = 1000;

    private final Path directory;

    SilentServerTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @BeforeEach
    void setCredentials() {
        System.setProperty("aws.accessKeyId", "nobody");
        System.setProperty("aws.secretAccessKey", "nothing");
    }

    @AfterEach
    void clearCredentials() {
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }

    @Test
    @DisplayName("A9 S5 S10 U3 a silent server: every command ends by itself, with its exit code, and one line with the cause and no other")
    void silent() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "there is no OpenCL device");
        Files.writeString(directory.resolve("add.cl"), "__kernel void add(__global float *a) { a[get_global_id(0)] += 1.0f; }\n");
        String manifest = Files.writeString(directory.resolve("kernels.toml"), "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n").toString();
        String target = "opencl/somebody-has";
        Map<String, List<String>> commands = new LinkedHashMap<>();
        commands.put("run", List.of("run", manifest));
        commands.put("run, only reading", List.of("run", manifest, "--require-bucket"));
        commands.put("ls", List.of("ls", "--tier", "bucket"));
        commands.put("stats", List.of("stats", "--tier", "bucket"));
        commands.put("warm", List.of("warm", "--target", target));
        commands.put("populate", List.of("populate", manifest));
        commands.put("compact", List.of("compact", "--target", target));
        Map<String, Future<Cli>> running = new LinkedHashMap<>();
        // Nothing is ever accepted: the kernel's backlog takes the connections, and nobody reads them.
        try (ServerSocket silent = new ServerSocket(0, MANY_CONNECTIONS, InetAddress.getLoopbackAddress());
                ExecutorService threads = Executors.newCachedThreadPool()) {
            commands.forEach((name, arguments) -> {
                List<String> all = new ArrayList<>(arguments);
                String bucket = "s3://kernels/ci" + (name.contains("reading") ? "?access=read" : "");
                all.addAll(List.of("--dir", directory.resolve("local of " + name).toString(), "--bucket", bucket, "--endpoint",
                        "http://127.0.0.1:" + silent.getLocalPort()));
                running.put(name, threads.submit(() -> Cli.run(all.toArray(String[]::new))));
            });
            for (Map.Entry<String, Future<Cli>> command : running.entrySet()) {
                Cli ended = command.getValue().get(HANG_SECONDS, TimeUnit.SECONDS);
                ended.exits(command.getKey().equals("run") ? 0 : 1).complains("s3://kernels/ci", "fewer than 1024 bytes moved for ");
                assertEquals(1, ended.err().lines().count(), () -> command.getKey() + ": " + ended);
            }
            assertTrue(Objects.requireNonNull(running.get("run")).get().out().contains("1 compiled"));
            assertTrue(Files.notExists(directory.resolve("local of populate")), "the bucket is tried before anything is compiled");
        }
    }
}
