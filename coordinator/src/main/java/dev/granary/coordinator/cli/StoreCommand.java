package dev.granary.coordinator.cli;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command that works on the stores: what all of those have in common. */
abstract class StoreCommand implements Callable<Integer> {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** The options that say which stores. */
    final StoreOptions stores() {
        return stores;
    }

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
