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
 * Demonstration of the main use case: CI compiles and publishes, a cold node gets everything from
 * the bucket, and a laptop that was online once works without a bucket. Each is a process with an
 * empty directory of its own. The bucket is in this process, and is closed before the laptop works
 * offline.
 */
public final class Demo implements AutoCloseable {
    private static final String BUCKET = "granary-demo";

    private final TemporaryDirectory directory;
    private final List<String> childCommand;
    private final Map<String, String> deviceVariables;
    private final Consumer<String> progress;

    /**
     * Creates a demo in a temporary directory.
     *
     * @param childCommand the command line that starts the hidden {@code demo-role} command
     * @param device where the children find their device
     * @param progress receives each step
     * @throws IOException if the temporary directory cannot be created
     */
    public Demo(List<String> childCommand, DeviceSource device, Consumer<String> progress)
            throws IOException {
        this.directory = new TemporaryDirectory("granary-demo-");
        this.childCommand = List.copyOf(childCommand);
        this.deviceVariables = switch (device) {
            case INSTALLED -> Map.of();
            case SIMULATED -> DeviceSimulation.variables(directory.path());
        };
        this.progress = progress;
    }

    /** The origin of the device on which the kernels run. */
    public enum DeviceSource {
        /** The devices of this machine, or what the environment selects. */
        INSTALLED,
        /** A device that Intel's driver simulates, without OpenCL beside it. */
        SIMULATED
    }

    /**
     * The results of the three roles.
     *
     * @param ci the role that compiled and published
     * @param node the role that started with an empty directory and a bucket
     * @param laptop the role that started with a filled directory and no bucket
     */
    public record Results(DemoRoleResult ci, DemoRoleResult node, DemoRoleResult laptop) {
        /**
         * Returns true if node and laptop compiled and tuned nothing, all results were right, and
         * each role made its constants once.
         */
        public boolean isSuccess() {
            return ci.isRight()
                    && node.isServedWithoutCompiling()
                    && laptop.isServedWithoutCompiling();
        }
    }

    /**
     * Runs all roles.
     *
     * @throws IOException if a process cannot be started, or fails; the message has its output
     * @throws InterruptedException if the calling thread is interrupted
     */
    public Results run() throws IOException, InterruptedException {
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
            ci = runRole("ci", online);
            progress.accept("node starts with an empty disk");
            node = runRole("node", online);
            progress.accept("laptop is online for a while");
            runRole("laptop", online);
        }
        progress.accept("laptop works without a bucket");
        return new Results(ci, node, runRole("laptop", Map.of()));
    }

    /** Deletes all files of the demo. */
    @Override
    public void close() throws IOException {
        directory.close();
    }

    private DemoRoleResult runRole(String name, Map<String, String> stores)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(childCommand);
        command.add(name);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.directory(directory.path().toFile()); // a simulated device writes files
        Map<String, String> environment = builder.environment();
        environment
                .keySet()
                .removeIf(
                        variable -> variable.startsWith("GRANARY_") || variable.startsWith("AWS_"));
        environment.putAll(stores);
        // a hit is expected of each role, however busy the machine is
        environment.put("GRANARY_BUCKET_WAIT", "1m");
        environment.putAll(deviceVariables);
        environment.putAll(DriverCacheSettings.variables(
                Files.createTempDirectory(directory.path(), "pocl-")));
        environment.put(
                "GRANARY_DIR", directory.path().resolve(name).resolve("granary").toString());
        environment.put(
                "XDG_CONFIG_HOME",
                directory.path().resolve(name).resolve("config").toString());
        Path stderr = directory.path().resolve(name + ".stderr");
        builder.redirectError(stderr.toFile());
        Process process = builder.start();
        String stdout = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int exitCode = process.waitFor();
        if (exitCode != 0) {
            throw new IOException("the process of " + name + " ended with " + exitCode + ":"
                    + System.lineSeparator() + stdout + Files.readString(stderr));
        }
        return parse(name, stdout);
    }

    private static DemoRoleResult parse(String name, String stdout) throws IOException {
        try {
            DemoRoleResult result = new Gson()
                    .fromJson(
                            stdout.substring(Math.max(0, stdout.indexOf('{'))),
                            DemoRoleResult.class);
            if (result != null) {
                return result;
            }
        } catch (JsonParseException e) {
            // reported below, with the output
        }
        throw new IOException("the process of " + name + " returned no result: " + stdout);
    }
}
