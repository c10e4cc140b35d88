package dev.granary.benchmarks.harness;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * A benchmark as a command: the options that all have, checks of their values, and the report at
 * the end. Exit codes: 0, 1 if the benchmark failed, 2 for wrong usage.
 */
public abstract class BenchmarkCommand implements Callable<Integer> {
    private static final int FAILED = 1;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "decides all that is random; ${DEFAULT-VALUE}")
    private long seed;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "write all figures to this file too")
    private @Nullable Path json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private @Nullable Report report;

    /** Returns the command line of {@code command}, with the standard streams. */
    public static CommandLine line(BenchmarkCommand command) {
        CommandLine line = new CommandLine(command);
        line.setOut(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        line.setUsageHelpAutoWidth(true);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExecutionExceptionHandler((failure, failed, _) -> {
            failure.printStackTrace(failed.getErr());
            return FAILED;
        });
        return line;
    }

    /** Runs the measures and adds their sections to {@link #report}. */
    protected abstract void measure() throws Exception;

    /** Returns the title of the goals at the end. */
    protected abstract String goalsTitle();

    @Override
    public final Integer call() throws Exception {
        if (json != null && !Files.isDirectory(json.toAbsolutePath().resolveSibling("."))) {
            throw wrong("--json must name a file in a directory that exists: " + json);
        }
        measure();
        if (report != null) {
            finish(report);
        }
        return 0;
    }

    private void finish(Report done) throws IOException {
        done.goals(goalsTitle());
        if (json != null) {
            done.write(json);
        }
    }

    /** Creates the report of this run. */
    protected final Report report(Map<String, ? extends Number> settings) {
        report = new Report(settings, spec.commandLine().getOut());
        return report;
    }

    /** Returns the file that receives all figures; empty if there is none. */
    protected final Optional<Path> json() {
        return Optional.ofNullable(json);
    }

    /** Returns the seed of all random values. */
    protected final long seed() {
        return seed;
    }

    /** Returns the writer for progress. */
    protected final PrintWriter progress() {
        return spec.commandLine().getErr();
    }

    /** Requires a minimum value of an option. */
    protected final void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw wrong(option + " must be " + least + " or more, not " + value);
        }
    }

    /**
     * Returns the parent of the directory that a run writes in: {@code directory}, or the temporary
     * directory.
     */
    protected final Path parent(@Nullable Path directory) {
        if (directory != null && Files.exists(directory) && !Files.isDirectory(directory)) {
            throw wrong("--dir must name a directory: " + directory);
        }
        return directory == null ? Path.of(System.getProperty("java.io.tmpdir")) : directory;
    }

    /** Returns the error of a wrong option. */
    protected final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }
}
