package dev.granary.wrap;

import dev.granary.cache.Deadline;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * A program that runs with the files that other machines have published for its tools, and whose
 * own new files are published.
 *
 * @param config the stores
 * @param tools the names of known tools
 * @param directories directories by the name of their tool, which need not be known
 * @param scope text that limits the sharing to runs with the same text; may be empty
 * @param isReadOnly whether nothing is published
 * @param limit the longest wait before the program starts, and after it has ended
 * @param every the time between two looks for new files while the program runs; zero: none
 */
public record Wrap(
        GranaryConfigBuilder config,
        List<String> tools,
        Map<String, String> directories,
        String scope,
        boolean isReadOnly,
        Duration limit,
        Duration every) {
    /** The exit codes of a shell for a program that cannot be started. */
    private static final int NOT_FOUND = 127;

    private static final int NOT_EXECUTABLE = 126;

    /**
     * An exit code above it, and below {@link #NO_SIGNAL}, says that a signal ended the program.
     */
    private static final int SIGNAL = 128;

    private static final int NO_SIGNAL = 193; // of 64 signals

    /** Java's character for bytes that the encoding of the locale does not have. */
    private static final char UNKNOWN = '\ufffd';

    /** The wait for a layer that has not answered before. */
    private static final Duration FAILING = Duration.ofSeconds(1);

    /**
     * What machines that share the files of a tool have in common.
     *
     * @param namespace the namespace of the files, such as {@code files/pocl_...}
     * @param facts the facts by name, in the order of their importance
     */
    public record ToolScope(
            String tool, Path directory, String namespace, SequencedMap<String, String> facts) {}

    /** Returns the names of the tools that are known. */
    private static List<String> knownTools() {
        return Tool.known().stream().map(Tool::name).toList();
    }

    /** Returns the scopes of a run. */
    public List<ToolScope> scopes() throws ConfigException {
        List<ToolScope> scopes = new ArrayList<>();
        for (Map.Entry<Tool, Path> each : selected().entrySet()) {
            Scope of = scope(each.getKey(), each.getValue());
            scopes.add(new ToolScope(
                    each.getKey().name(), each.getValue(), of.target().path(), of.facts()));
        }
        return scopes;
    }

    private Scope scope(Tool tool, Path directory) {
        return Scope.of(tool, directory, Path.of("/"), System.getenv(), scope);
    }

    private Map<Tool, Path> selected() throws ConfigException {
        Map<Tool, Path> selected = new LinkedHashMap<>();
        for (Map.Entry<String, String> each : directories.entrySet()) {
            Tool tool = Tool.ofDirectory(each.getKey());
            selected.put(tool, tool.path(each.getValue()));
        }
        for (String name : tools) {
            Tool tool = Tool.named(name);
            if (!directories.containsKey(name)) {
                selected.put(tool, tool.directory(System.getenv()));
            }
        }
        if (selected.isEmpty()) {
            throw new ConfigException("Give --tool NAME (" + String.join(", ", knownTools())
                    + ") or --dir NAME=PATH.");
        }
        return selected;
    }

    /**
     * Fetches files, runs the program, and publishes files. Apart from a wrong configuration
     * nothing keeps the program from running.
     *
     * @throws ConfigException if the configuration is wrong: the program was not started
     * @throws InterruptedException if this thread was interrupted
     */
    public WrapResult run(List<String> program) throws ConfigException, InterruptedException {
        Map<Tool, Path> selected = selected();
        if (program.stream().anyMatch(argument -> argument.indexOf(UNKNOWN) >= 0)) {
            throw new ConfigException("An argument of the program is no text of the locale, so it"
                    + " cannot be passed on; set LC_ALL=C.UTF-8.");
        }
        GranaryConfig stores = config.flushLimit(limit).build();
        ProcessBuilder process = new ProcessBuilder(program).inheritIO();
        SortedMap<String, String> failures = new ConcurrentSkipListMap<>();
        List<ToolRun> runs = new ArrayList<>();
        long capacity = stores.capacityBytes() == 0
                ? LocalTierConfig.DEFAULT_CAPACITY_BYTES
                : stores.capacityBytes();
        for (Map.Entry<Tool, Path> each : selected.entrySet()) {
            Tool tool = each.getKey();
            tool.select(each.getValue(), process.environment());
            try {
                ToolRun run = new ToolRun(
                        scope(tool, each.getValue()),
                        CacheDirectory.open(each.getValue(), tool),
                        capacity);
                run.begin();
                runs.add(run);
            } catch (IOException e) {
                failures.put(tool.name(), "its directory cannot be used: " + e);
            }
        }
        if (!runs.isEmpty()) {
            failures.putAll(new Fetcher(stores, runs).fetch(Deadline.after(limit)));
        }
        for (ToolRun run : runs) {
            attempt(failures, run, run::start);
        }
        boolean isFailing = stores.buckets().stream()
                .anyMatch(layer -> layer.isWritable() && failures.containsKey(layer.name()));
        Duration afterwards = isFailing && limit.compareTo(FAILING) > 0 ? FAILING : limit;
        Publisher publisher = new Publisher(config.flushLimit(afterwards).build());
        int exitCode = 0;
        try (publisher) {
            ScheduledExecutorService ticks =
                    Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("granary-wrap"));
            if (!isReadOnly && !every.isZero()) {
                Runnable look = () -> runs.forEach(
                        run -> attempt(failures, run, () -> publisher.publish(run, false, limit)));
                ScheduledFuture<?> _ = ticks.scheduleWithFixedDelay(
                        look, every.toNanos(), every.toNanos(), TimeUnit.NANOSECONDS);
            }
            exitCode = start(process, failures);
            ticks.shutdown();
            // a signal may have ended it in the middle of a file
            boolean isWhole = exitCode <= SIGNAL || exitCode >= NO_SIGNAL;
            boolean isIdle = ticks.awaitTermination(limit.toNanos(), TimeUnit.NANOSECONDS);
            if (!isReadOnly && isWhole && isIdle) {
                runs.forEach(
                        run -> attempt(failures, run, () -> publisher.publish(run, true, limit)));
            }
            for (ToolRun run : runs) {
                attempt(failures, run, () -> publisher.noteUses(run.used(), afterwards));
            }
        }
        failures.putAll(publisher.failures());
        return new WrapResult(
                exitCode,
                runs.stream().map(run -> run.result(publisher.published())).toList(),
                failures);
    }

    /** An action after which the program goes on, whatever happens. */
    @FunctionalInterface
    private interface Attempt {
        void run() throws IOException, ConfigException;
    }

    private static void attempt(Map<String, String> failures, ToolRun run, Attempt action) {
        try {
            action.run();
        } catch (Throwable e) { // an error too: it must not affect the program
            failures.put(run.scope().tool().name(), SafeText.inOneLine(e));
        }
    }

    private static int start(ProcessBuilder process, Map<String, String> failures)
            throws InterruptedException {
        try {
            return WrappedProgram.run(process);
        } catch (IOException e) {
            String program = process.command().getFirst();
            boolean isThere = Files.exists(Path.of(program));
            failures.put(program, isThere ? "it cannot be executed" : "there is no program");
            return isThere ? NOT_EXECUTABLE : NOT_FOUND;
        }
    }
}
