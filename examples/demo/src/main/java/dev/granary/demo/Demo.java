package dev.granary.demo;

import com.google.gson.Gson;

import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.support.FileTrees;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.s3.embedded.EmbeddedS3;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/**
 * The demo. CI compiles and publishes, a cold node gets everything from the bucket, and a laptop
 * that was online once works without a bucket. Each is a process with an empty directory of its
 * own. The S3 server is in this process, and is closed before the laptop works offline.
 */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = "Compile real kernels once, on one machine, and use them on two others that"
                + " compile nothing.")
public final class Demo implements Callable<Integer> {
    private static final String BUCKET = "granary-demo";
    private static final String LEVEL_ZERO = "level-zero";
    private static final List<Program> QUICK = Programs.named(
            "vector-add",
            "saxpy",
            "transpose",
            "pack-weights",
            "packed-gemm",
            "packed-gemm-relu",
            "mandelbrot");

    @Option(
            names = "--backend",
            paramLabel = "BACKEND",
            defaultValue = "auto",
            description = "opencl, level-zero, or auto: OpenCL or, if it has no device, Level Zero"
                    + " (default: auto)")
    private String backend = "auto";

    @Option(
            names = "--device",
            paramLabel = "NAME",
            defaultValue = "",
            description = "a part of the device's or platform's name, or its number in granary"
                    + " devices; default: the first GPU, else the first device")
    private String device = "";

    @Option(names = "--json", description = "print one JSON object")
    private boolean isJson;

    @Option(names = "--quick", description = "eight programs instead of sixteen")
    private boolean isQuick;

    @Option(names = "--role", hidden = true, defaultValue = "")
    private String role = "";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** An available device. */
    private record Choice(String name, EngineKind kind, Supplier<KernelEngine> open) {}

    /** Runs the demo and ends the process: 0 if it succeeded, 1 if not, 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Demo())
                .setExecutionExceptionHandler((failure, _, _) -> {
                    System.err.println("granary: the demo failed: " + failure.getMessage());
                    return 1;
                })
                .execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        if (!backend.matches("auto|opencl|" + LEVEL_ZERO)) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--backend must be opencl, level-zero or auto");
        }
        if (!role.isEmpty()) {
            playRole();
            return 0;
        }
        Path directory = Files.createTempDirectory("granary-demo-");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
        DemoReport report = new DemoReport(runAll(directory));
        if (isJson) {
            report.printJson(System.out);
        } else {
            report.printText(System.out);
        }
        return report.isSuccess() ? 0 : 1;
    }

    private List<MachineResult> runAll(Path directory) throws IOException, InterruptedException {
        MachineResult ci;
        MachineResult node;
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket(BUCKET);
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://" + BUCKET + "/kernels",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");
            progress("ci compiles every kernel and publishes it to the bucket");
            ci = start("ci", directory, online);
            progress("node starts with an empty disk");
            node = start("node", directory, online);
            progress("laptop is online for a while");
            start("laptop", directory, online);
        }
        progress("laptop works without a bucket");
        return List.of(ci, node, start("laptop", directory, Map.of()));
    }

    private void progress(String line) {
        if (!isJson) {
            System.err.println(line + " ...");
        }
    }

    /** Runs a role in a process of its own, and returns its result. */
    private MachineResult start(String name, Path directory, Map<String, String> stores)
            throws IOException, InterruptedException {
        Path home = Files.createDirectories(directory.resolve(name));
        Path errors = directory.resolve(name + ".stderr");
        ProcessBuilder builder = new ProcessBuilder(command(name))
                .directory(directory.toFile()) // a simulated device writes files
                .redirectError(errors.toFile());
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(key -> key.startsWith("GRANARY_") || key.startsWith("AWS_"));
        environment.putAll(stores);
        environment.put("GRANARY_BUCKET_WAIT", "1m"); // a hit is expected, however busy all is
        environment.put("GRANARY_DIR", home.resolve("granary").toString());
        environment.put("XDG_CONFIG_HOME", home.resolve("config").toString());
        environment.putAll(
                DriverVariables.withoutCaches(Files.createTempDirectory(directory, "pocl-")));
        if (backend.equals(LEVEL_ZERO) && LevelZero.devices().isEmpty()) {
            environment.putAll(DriverVariables.simulation(directory));
        }
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int exitCode = process.waitFor();
        if (exitCode != 0) {
            throw new IOException("the process of " + name + " ended with " + exitCode + ":"
                    + System.lineSeparator() + out + Files.readString(errors));
        }
        return new Gson().fromJson(out.substring(out.indexOf('{')), MachineResult.class);
    }

    /** Returns the command line of a role, with the JVM, flags and class path of this process. */
    private List<String> command(String name) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Demo.class.getName()));
        command.addAll(spec.commandLine().getParseResult().originalArgs());
        command.addAll(List.of("--role", name));
        return command;
    }

    private void playRole() throws Exception {
        Choice chosen = choose();
        try (KernelEngine engine = chosen.open().get();
                Granary granary = Granary.open(GranaryConfig.fromEnvironment())) {
            List<Program> programs = isQuick ? QUICK : Programs.all();
            System.out.println(new Gson()
                    .toJson(new Machine(granary, engine).run(role, chosen.name(), programs)));
        }
    }

    private Choice choose() throws IOException {
        List<Choice> devices = new ArrayList<>();
        if (!backend.equals(LEVEL_ZERO)) {
            OpenCl.devices()
                    .forEach(one -> devices.add(
                            new Choice(one.toString(), one.kind(), () -> OpenClEngine.open(one))));
        }
        if (!backend.equals("opencl")) {
            LevelZero.devices()
                    .forEach(one -> devices.add(new Choice(
                            one.toString(), one.kind(), () -> LevelZeroEngine.open(one))));
        }
        if (device.isEmpty()) {
            devices.sort(Comparator.comparing(one -> one.kind() == EngineKind.CPU));
        }
        String part = device.toLowerCase(Locale.ROOT);
        for (int i = 0; i < devices.size(); i++) {
            if (device.equals(String.valueOf(i))
                    || devices.get(i).name().toLowerCase(Locale.ROOT).contains(part)) {
                return devices.get(i);
            }
        }
        throw new IOException("there is no device '" + device + "', only "
                + devices.stream().map(Choice::name).toList());
    }

    /** Deletes a directory at the end of this process, after the processes that may use it. */
    private static void delete(Path directory) {
        ProcessHandle.current().descendants().forEach(child -> {
            child.destroyForcibly();
            child.onExit().join();
        });
        try {
            FileTrees.delete(directory);
        } catch (IOException e) {
            System.err.println("granary: " + directory + " could not be deleted: " + e);
        }
    }
}
