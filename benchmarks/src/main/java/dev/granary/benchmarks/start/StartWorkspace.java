package dev.granary.benchmarks.start;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.Workspace;

import org.jspecify.annotations.Nullable;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Workspace of a benchmark of starts: the objects of the server, and programs. */
final class StartWorkspace extends Workspace {
    private int runs;

    StartWorkspace(Path parent, PrintWriter progress) throws IOException {
        super(parent, "granary-bench-start-", progress);
    }

    /** Returns the path of that name in the workspace; nothing is created. */
    Path path(String name) {
        return directory().resolve(name);
    }

    /**
     * The times of a program, in seconds.
     *
     * @param openAndLookup from before opening to after the first lookup
     * @param lookup of the first lookup
     * @param close of closing
     */
    record Times(double openAndLookup, double lookup, double close) {}

    /**
     * Returns the program, with an archive of the classes that it uses.
     *
     * @param endpoint a server that works, for the run that makes the archive
     * @param credentials variables with the credentials
     */
    Program program(URI endpoint, Map<String, String> credentials)
            throws IOException, InterruptedException {
        Path archive = path("start.aot");
        Program program = new Program(archive, credentials);
        say("making the archive of classes");
        program.run(List.of("-XX:AOTCacheOutput=" + archive), true, endpoint, 1, 200, 1000);
        if (Files.notExists(archive)) {
            throw new IOException("This JVM makes no archive: " + Files.readString(path("errors")));
        }
        return program;
    }

    /** {@link StartProgram} in new processes, each with a new directory and prefix. */
    final class Program {
        private final Path archive;
        private final Map<String, String> credentials;

        private Program(Path archive, Map<String, String> credentials) {
            this.archive = archive;
            this.credentials = credentials;
        }

        /** Returns the flags of a JVM that uses the archive. */
        List<String> archiveFlags() {
            return List.of("-XX:AOTCache=" + archive);
        }

        /**
         * Runs the program.
         *
         * @param flags the flags of its JVM
         * @param endpoint the server; null for no bucket
         * @param kernels the number of kernels
         * @param compileMillis the time for each
         * @param pauseMillis the time between opening and the first lookup
         */
        Times run(
                List<String> flags,
                boolean hasCredentials,
                @Nullable URI endpoint,
                int kernels,
                int compileMillis,
                int pauseMillis)
                throws IOException, InterruptedException {
            String name = "run-" + ++runs;
            List<String> command = new ArrayList<>();
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.add("--enable-native-access=ALL-UNNAMED");
            command.addAll(flags);
            command.addAll(List.of(
                    "-cp",
                    classPath(),
                    StartProgram.class.getName(),
                    path(name).toString(),
                    Integer.toString(kernels),
                    Integer.toString(compileMillis),
                    Integer.toString(pauseMillis)));
            if (endpoint != null) {
                command.add("s3://kernels/" + name + "?endpoint=" + endpoint);
            }
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectError(
                            ProcessBuilder.Redirect.appendTo(path("errors").toFile()));
            builder.environment()
                    .keySet()
                    .removeIf(variable ->
                            variable.startsWith("AWS_") || variable.startsWith("GRANARY_"));
            builder.environment().put("HOME", path("home").toString());
            builder.environment().put("AWS_EC2_METADATA_DISABLED", "true");
            if (hasCredentials) {
                builder.environment().putAll(credentials);
            }
            Process process = builder.start();
            String output = new String(process.getInputStream().readAllBytes(), UTF_8);
            if (process.waitFor() != 0) {
                throw new IOException("The program failed: " + Files.readString(path("errors")));
            }
            double[] seconds = Stream.of(output.lines().findFirst().orElse("").split(" "))
                    .mapToDouble(nanos -> Long.parseLong(nanos) / 1e9)
                    .toArray();
            return new Times(seconds[0], seconds[1], seconds[2]);
        }
    }

    /** Returns the class path with the jar of this module: an archive has no directories. */
    private static String classPath() throws IOException {
        Path classes = Path.of(StartProgram.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath());
        try (Stream<Path> files = Files.list(classes.resolveSibling("."))) {
            Path jar = files.filter(
                            file -> file.toString().matches(".*/granary-benchmarks-[^/]*\\.jar"))
                    .findFirst()
                    .orElse(classes);
            return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                    .filter(entry -> entry.endsWith(".jar"))
                    .collect(Collectors.joining(
                            File.pathSeparator, jar.normalize() + File.pathSeparator, ""));
        }
    }
}
