package dev.granary.benchmarks.bucket.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A script of the project that keeps a server running, in its own process, until it is closed. */
final class ServerScript implements AutoCloseable {
    /** The exit code of a script whose packages are not installed. */
    static final int NOT_INSTALLED = 3;

    private static final Pattern EXPORT = Pattern.compile("export (\\w+)=(.*)");
    private static final String LAST = "GRANARY_BUCKET"; // the last variable that a script prints
    private static final long END_SECONDS = 20;
    private static final Duration LONGEST_START = Duration.ofMinutes(5);

    private final Process process;
    private final Map<String, String> told;
    private final Thread hook;

    private ServerScript(Process process, Map<String, String> told) {
        this.process = process;
        this.told = Map.copyOf(told);
        this.hook = new Thread(process::destroy);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** The outcome of a start. */
    sealed interface Started {
        /** The server is running. */
        record Up(ServerScript script) implements Started {}

        /** The server did not start: its exit code and its message. */
        record Failed(int exitCode, String message) implements Started {}
    }

    /**
     * Starts the script of that name in {@code scripts}, and waits until its server is running, for
     * at most 5 minutes.
     */
    static Started start(
            BucketWorkspace workplace,
            Path scripts,
            String name,
            List<String> arguments,
            Map<String, String> environment)
            throws IOException, InterruptedException {
        return start(workplace, scripts, name, arguments, environment, LONGEST_START);
    }

    static Started start(
            BucketWorkspace workplace,
            Path scripts,
            String name,
            List<String> arguments,
            Map<String, String> environment,
            Duration longest)
            throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(scripts.resolve(name).toAbsolutePath().toString()));
        command.addAll(arguments);
        BucketWorkspace.Started started = workplace.start(command, environment);
        Process process = started.process();
        Map<String, String> told = new HashMap<>();
        BufferedReader out = process.inputReader(UTF_8);
        AtomicBoolean isOverdue = new AtomicBoolean();
        CompletableFuture<Void> limit = CompletableFuture.runAsync(
                () -> {
                    isOverdue.set(true);
                    end(process);
                },
                CompletableFuture.delayedExecutor(longest.toNanos(), TimeUnit.NANOSECONDS));
        try {
            while (!told.containsKey(LAST)) {
                String line = out.readLine();
                if (line == null) {
                    process.waitFor();
                    return new Started.Failed(
                            process.exitValue(),
                            (isOverdue.get() ? name + " has not started in " + longest + ": " : "")
                                    + started.errors());
                }
                Matcher export = EXPORT.matcher(line);
                if (export.matches()) {
                    told.put(export.group(1), export.group(2));
                }
            }
        } finally {
            limit.cancel(false);
        }
        return new Started.Up(new ServerScript(process, told));
    }

    /** Ends a script and the processes that it waits for, which hold its output open. */
    private static void end(Process process) {
        List<ProcessHandle> children = process.descendants().toList();
        process.destroy();
        children.forEach(ProcessHandle::destroy);
    }

    /** Returns the environment variables for programs that use the server. */
    Map<String, String> told() {
        return told;
    }

    /** Ends the script, which stops its server and deletes its files. */
    @Override
    public void close() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}
