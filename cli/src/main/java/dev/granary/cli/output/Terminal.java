package dev.granary.cli.output;

import java.io.Console;

/** Detection of a terminal. */
final class Terminal {
    private Terminal() {}

    @SuppressWarnings("SystemConsoleNull") // null if the chosen console provider has none
    static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }
}
