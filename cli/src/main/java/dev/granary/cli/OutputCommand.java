package dev.granary.cli;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command that prints for people or for machines. */
abstract class OutputCommand implements Callable<Integer> {
    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** True where one JSON object is wanted instead of text. */
    final boolean isJson() {
        return json;
    }

    /** Where results go. */
    final PrintWriter out() {
        return spec.commandLine().getOut();
    }

    /** Where progress and complaints go. */
    final PrintWriter err() {
        return spec.commandLine().getErr();
    }
}
