package dev.granary.wrap;

import dev.granary.coordinator.config.BucketCredentials;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.s3.embedded.EmbeddedS3;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A machine with a local directory and a tool that keeps files in a directory of its own. Programs
 * are shell scripts, in which {@code $D} is that directory.
 */
final class WrapMachine {
    final Path root;
    final Path files;
    String tool = "any";
    String scope = "";
    boolean isReadOnly;
    Duration limit = Duration.ofMinutes(5); // however busy the machine is
    Duration bucketWait = Duration.ofMinutes(1);
    Duration every = Duration.ofMinutes(10);
    String endpoint;
    private final List<String> layers;
    private final BucketCredentials credentials;

    private WrapMachine(Path root, String endpoint, BucketCredentials credentials, String... layers)
            throws IOException {
        this.root = root;
        this.endpoint = endpoint;
        this.credentials = credentials;
        this.layers = List.of(layers);
        this.files = root.resolve("tool");
        Files.createDirectories(files);
    }

    static WrapMachine of(Path root, EmbeddedS3 server, String... layers) throws IOException {
        return new WrapMachine(
                root,
                server.endpoint().toString(),
                new BucketCredentials(server.accessKey(), server.secretKey(), Optional.empty()),
                layers);
    }

    /** Returns a machine whose server is another one, or none. */
    static WrapMachine of(Path root, String endpoint, String... layers) throws IOException {
        return new WrapMachine(
                root,
                endpoint,
                new BucketCredentials("unchecked", "unchecked", Optional.empty()),
                layers);
    }

    GranaryConfigBuilder config() throws Exception {
        GranaryConfigBuilder builder = GranaryConfig.builder()
                .environment(Map.of("AWS_REGION", "us-east-1"))
                .directory(root.resolve("granary"))
                .credentials(() -> credentials)
                .claimWait(Duration.ZERO)
                .bucketWait(bucketWait)
                .primitiveCacheCapacity(0);
        if (layers.stream().anyMatch(layer -> layer.startsWith("s3:"))) {
            builder.endpoint(endpoint);
        }
        for (String layer : layers) {
            builder.bucket(layer);
        }
        return builder;
    }

    Wrap wrap(GranaryConfigBuilder config) {
        return new Wrap(
                config, List.of(), Map.of(tool, files.toString()), scope, isReadOnly, limit, every);
    }

    WrapResult run(String script) throws Exception {
        return start("sh", "-c", "D=" + files + "\n" + script);
    }

    WrapResult start(String... command) throws Exception {
        return wrap(config()).run(List.of(command));
    }

    /** Returns the contents of all files of the tool, by their paths. */
    SortedMap<String, String> contents() throws IOException {
        SortedMap<String, String> contents = new TreeMap<>();
        try (Stream<Path> all = Files.walk(files)) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                contents.put(files.relativize(file).toString(), Files.readString(file));
            }
        }
        return contents;
    }
}
