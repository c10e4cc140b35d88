package dev.granary.gpu;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A second JVM of a test, with the same class path and flags, and optionally other settings. */
public final class Child {
    private static final long LIMIT_SECONDS = 600;

    private final Class<?> main;
    private final Path directory;
    private final List<String> flags = new ArrayList<>();
    private final Map<String, String> environment;
    private final ProcessBuilder process;

    /** Creates a JVM that will run {@code main} with {@code directory} as working directory. */
    public Child(Class<?> main, Path directory) {
        this.main = main;
        this.directory = directory;
        this.process = new ProcessBuilder();
        this.environment = process.environment();
        set("POCL_KERNEL_CACHE", "0");
        set("POCL_CACHE_DIR", directory.resolve("driver-cache").toString());
    }

    /** Sets an environment variable. */
    public Child set(String variable, String value) {
        environment.put(variable, value);
        return this;
    }

    /** Adds a JVM flag. */
    public Child flag(String flag) {
        flags.add(flag);
        return this;
    }

    /**
     * Runs to the end and returns both output streams as one, in order. A line of one stream may
     * begin within a line of the other.
     */
    public String run(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=deny",
                "-XX:TieredStopAtLevel=1"));
        command.addAll(flags);
        command.addAll(
                List.of("-cp", absolute(System.getProperty("java.class.path")), main.getName()));
        command.addAll(List.of(arguments));
        Files.createDirectories(directory.resolve("driver-cache"));
        Path output = Files.createTempFile(directory, "child", ".txt");
        Process running = process.command(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        if (!running.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            running.destroyForcibly();
            throw new IOException("The child did not end: " + command);
        }
        String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
        if (running.exitValue() != 0) {
            throw new IOException("The child ended with " + running.exitValue() + ": " + text);
        }
        return text;
    }

    /**
     * Returns the text after {@code name=} in the child's output, anywhere in a line: a driver may
     * have written before it.
     */
    public static String value(String output, String name) {
        Matcher found = Pattern.compile("\\b" + Pattern.quote(name) + "=(.*)").matcher(output);
        if (!found.find()) {
            throw new AssertionError("The child did not print " + name + ": " + output);
        }
        return found.group(1);
    }

    private static String absolute(String classPath) {
        List<String> entries = new ArrayList<>();
        for (String entry : classPath.split(System.getProperty("path.separator"))) {
            entries.add(Path.of(entry).toAbsolutePath().toString());
        }
        return String.join(System.getProperty("path.separator"), entries);
    }
}
