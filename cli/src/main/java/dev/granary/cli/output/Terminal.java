package dev.granary.cli.output;

import java.io.Console;

/** Detection of a terminal. */
public final class Terminal {
    private Terminal() {}

    /** Returns true if the output of this process is shown on a terminal. */
    @SuppressWarnings("SystemConsoleNull") // null if the chosen console provider has none
    public static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }
}
