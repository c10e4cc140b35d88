package dev.granary.cli.output;

import java.io.Console;

/** Tells whether a person is watching. */
final class Terminal {
    private Terminal() {}

    @SuppressWarnings("SystemConsoleNull") // null where another console provider was chosen that has none
    static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }
}
