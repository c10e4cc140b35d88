package dev.granary.demo;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import dev.granary.cli.process.TemporaryDirectory;
import dev.granary.s3.embedded.EmbeddedS3;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Plays the main job: CI compiles and publishes, a cold node gets everything from the bucket, a laptop that was online once works without a
 * bucket. Each is an operating-system process with an empty disk of its own; the bucket is inside this process and is gone before the laptop
 * goes to work.
 */
public final class Demo implements AutoCloseable {
    private static final String BUCKET = "granary-demo";

    private final TemporaryDirectory directory;
    private final List<String> childCommand;
    private final Consumer<String> progress;

    /**
     * A demo in a temporary directory.
     *
     * @param childCommand how to start the hidden {@code demo-role} command in a process of its own
     * @param progress hears what is going on
     * @throws IOException if the temporary directory cannot be made
     */
    public Demo(List<String> childCommand, Consumer<String> progress) throws IOException {
        this.directory = new TemporaryDirectory("granary-demo-");
        this.childCommand = List.copyOf(childCommand);
        this.progress = progress;
    }

    /**
     * The three roles' results.
     *
     * @param ci compiled and published
     * @param node started cold with a bucket
     * @param laptop started with a filled directory and without a bucket
     */
    public record Results(DemoRoleResult ci, DemoRoleResult node, DemoRoleResult laptop) {
        /** True if node and laptop compiled nothing, every result was right, and each made its constants once. */
        public boolean isSuccess() {
            return ci.isRight() && node.isServedWithoutCompiling() && laptop.isServedWithoutCompiling();
        }
    }

    /**
     * Plays all roles.
     *
     * @throws IOException if a process cannot be started or fails; the message has its last words
     */
    public Results play() throws IOException, InterruptedException {
        DemoRoleResult ci;
        DemoRoleResult node;
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket(BUCKET);
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://" + BUCKET + "/kernels",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");
            progress.accept("ci compiles every kernel and publishes it to the bucket");
            ci = role("ci", online);
            progress.accept("node starts with an empty disk");
            node = role("node", online);
            progress.accept("laptop is online for a while");
            role("laptop", online);
        }
        progress.accept("laptop works without a bucket");
        return new Results(ci, node, role("laptop", Map.of()));
    }

    /** Removes everything that the demo wrote. */
    @Override
    public void close() throws IOException {
        directory.close();
    }

    private DemoRoleResult role(String name, Map<String, String> stores) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(childCommand);
        command.add(name);
        ProcessBuilder builder = new ProcessBuilder(command);
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(variable -> variable.startsWith("GRANARY_") || variable.startsWith("AWS_"));
        environment.putAll(stores);
        environment.putAll(DriverCacheSettings.variables(Files.createTempDirectory(directory.path(), "pocl-")));
        environment.put("GRANARY_DIR", directory.path().resolve(name).resolve("granary").toString());
        environment.put("XDG_CONFIG_HOME", directory.path().resolve(name).resolve("config").toString());
        Path said = directory.path().resolve(name + ".stderr");
        builder.redirectError(said.toFile());
        Process process = builder.start();
        String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int exitCode = process.waitFor();
        if (exitCode != 0) {
            throw new IOException("the process of " + name + " ended with " + exitCode + ":" + System.lineSeparator() + answer
                    + Files.readString(said));
        }
        return parse(name, answer);
    }

    private static DemoRoleResult parse(String name, String answer) throws IOException {
        try {
            DemoRoleResult result = new Gson().fromJson(answer.substring(Math.max(0, answer.indexOf('{'))), DemoRoleResult.class);
            if (result != null) {
                return result;
            }
        } catch (JsonParseException e) {
            // told below, with what came instead
        }
        throw new IOException("the process of " + name + " did not answer as it should: " + answer);
    }
}
