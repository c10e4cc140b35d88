package dev.granary.cli.option;

import dev.granary.cli.output.Report;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.util.concurrent.Callable;

/** Base of the commands that print either text or one JSON object. */
@Command(mixinStandardHelpOptions = true)
public abstract class OutputCommand implements Callable<Integer> {
    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Returns true if one JSON object is requested instead of text. */
    protected final boolean isJson() {
        return json;
    }

    /** Returns a new report, to which the command adds its result. */
    protected final Report report() {
        return new Report(out(), err(), json);
    }

    /** Returns the writer for results. */
    protected final PrintWriter out() {
        return spec.commandLine().getOut();
    }

    /** Returns the writer for progress and errors. */
    protected final PrintWriter err() {
        return spec.commandLine().getErr();
    }
}
