package dev.granary.coordinator;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;

import java.nio.file.Path;
import java.util.Map;

/**
 * A program without the MinIO client: opens a Granary for each client library, and prints the
 * result.
 */
final class ClientLibraryProcess {
    private ClientLibraryProcess() {}

    public static void main(String[] arguments) {
        for (String client : new String[] {"aws", "minio"}) {
            System.out.println(client + ": " + open(client));
        }
    }

    private static String open(String client) {
        try (Granary granary = Granary.open(GranaryConfig.builder()
                .environment(Map.of("HOME", "/nonexistent"))
                .directory(Path.of("local").toAbsolutePath())
                .bucket("s3://kernels")
                .endpoint("http://127.0.0.1:1")
                .client(client)
                .build())) {
            granary.connect();
            return "opened, " + granary.statistics().layers().getFirst().name();
        } catch (ConfigException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
