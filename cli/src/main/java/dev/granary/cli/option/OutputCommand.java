package dev.granary.cli.option;

import dev.granary.cli.output.Report;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;

/** Base of the commands that print either text or one JSON object. */
@Command(mixinStandardHelpOptions = true)
public abstract class OutputCommand implements Callable<Integer> {
    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /**
     * Runs the command, and adds its result to the report, which is printed afterwards.
     *
     * @return false if it has failed, for which the exit code is 1
     */
    protected abstract boolean run(Report report) throws Exception;

    @Override
    public Integer call() throws Exception {
        Report report = new Report(out(), err(), json);
        boolean isSuccess = run(report);
        report.print();
        return isSuccess ? 0 : 1;
    }

    protected final boolean isJson() {
        return json;
    }

    protected final PrintWriter out() {
        return spec.commandLine().getOut();
    }

    /** Returns the writer for progress and errors. */
    protected final PrintWriter err() {
        return spec.commandLine().getErr();
    }

    /** Writes a file that the user has named; {@code name} begins the message if that fails. */
    protected static void write(Path file, byte[] content, String name) {
        try {
            Files.write(file, content);
        } catch (IOException e) {
            throw new CommandFailedException(name + " cannot be written: "
                    + (e instanceof NoSuchFileException ? "there is no such directory" : e));
        }
    }
}
