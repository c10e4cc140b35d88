package dev.granary.gpu.trial;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Trial of a restore in a Java process of its own: if the driver crashes on a binary, only that
 * process ends. The process opens the first device of the target, restores the binaries, and
 * creates their kernels. It launches none.
 */
public final class RestoreTrial {
    private static final List<String> BINDING =
            List.of("org.lwjgl", "org.lwjgl.natives", "org.lwjgl.opencl");

    private RestoreTrial() {}

    /** The outcome of a trial. */
    public sealed interface Outcome {
        /**
         * The process survived. The driver accepted the binaries, or refused them with an error.
         */
        record Survived() implements Outcome {}

        /**
         * The driver ended the process, or did not return within the limit.
         *
         * @param cause the exit code or limit and the last line of output, in one line for people
         */
        record Died(String cause) implements Outcome {}

        /**
         * The restore was not tried.
         *
         * @param cause the cause, in one line for people
         */
        record Impossible(String cause) implements Outcome {}
    }

    /**
     * Restores binaries in a process of its own, and waits for its end. The process has the class
     * path or module path, the environment and the LWJGL settings of this one.
     *
     * @param kernels the names of the kernels to create; empty: all
     * @param limit the longest time from the start of the process; then it is killed
     * @throws InterruptedException if the thread is interrupted; the process is killed
     */
    public static Outcome run(
            Target target, List<String> kernels, KernelBinaries binaries, Duration limit)
            throws InterruptedException {
        Path directory;
        try {
            directory = Files.createTempDirectory("granary-trial-");
        } catch (IOException e) {
            return new Outcome.Impossible("no temporary directory: " + e);
        }
        try {
            Path input = directory.resolve("input");
            Files.write(input, new TrialInput(target.path(), kernels, binaries).encode());
            ProcessBuilder process = new ProcessBuilder(command(input))
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("output").toFile());
            setDriverCaches(process.environment(), directory.resolve("driver"));
            return run(process, directory.resolve("output"), limit);
        } catch (IOException e) {
            return new Outcome.Impossible("its process could not be run: " + e);
        } finally {
            delete(directory);
        }
    }

    /**
     * Keeps the trial away from the driver's caches. PoCL writes the content of a binary into its
     * cache before it reads it, and a compile of the same program would crash on that.
     */
    private static void setDriverCaches(Map<String, String> environment, Path directory)
            throws IOException {
        environment.put("POCL_CACHE_DIR", Files.createDirectory(directory).toString());
        environment.put("NEO_CACHE_PERSISTENT", "0");
        environment.put("CUDA_CACHE_DISABLE", "1");
    }

    private static Outcome run(ProcessBuilder trial, Path output, Duration limit)
            throws IOException, InterruptedException {
        Process process = trial.start();
        try {
            process.getOutputStream().close();
            boolean isEnded = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            TrialOutput printed;
            try (InputStream in = Files.newInputStream(output)) {
                printed = TrialOutput.read(in);
            }
            if (printed.hasReturned()) {
                return new Outcome.Survived();
            }
            String end = isEnded
                    ? "exit code " + process.exitValue()
                    : "no end within " + limit.toSeconds() + " s";
            String last = printed.lastLine().isEmpty() ? "no output" : printed.lastLine();
            String cause = end + ": " + last;
            return printed.hasBegun() ? new Outcome.Died(cause) : new Outcome.Impossible(cause);
        } finally {
            process.destroyForcibly();
        }
    }

    private static List<String> command(Path input) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=" + input.resolveSibling("jvm-crash.log")));
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("org.lwjgl.") || name.equals("java.library.path"))
                .sorted()
                .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
        Module module = RestoreTrial.class.getModule();
        if (module.isNamed()) {
            List<String> binding = bindingOf(module.getLayer());
            command.add("--enable-native-access=" + module.getName()
                    + (binding.isEmpty() ? "" : "," + String.join(",", binding)));
            if (!binding.isEmpty()) {
                command.add("--add-modules=" + String.join(",", binding));
            }
            command.addAll(List.of(
                    "--module-path",
                    System.getProperty("jdk.module.path", ""),
                    "--module",
                    module.getName() + "/" + TrialMain.class.getName()));
        } else {
            command.addAll(List.of(
                    "--enable-native-access=ALL-UNNAMED",
                    "--class-path",
                    System.getProperty("java.class.path", ""),
                    TrialMain.class.getName()));
        }
        command.add(input.toString());
        return command;
    }

    /** Returns the modules of LWJGL in this process. The module of the trial requires none. */
    private static List<String> bindingOf(ModuleLayer layer) {
        return BINDING.stream()
                .filter(name -> layer.findModule(name).isPresent())
                .toList();
    }

    private static void delete(Path directory) {
        try {
            FileTrees.delete(directory);
        } catch (IOException e) {
            // left to the system's own cleaning of temporary files
        }
    }
}
