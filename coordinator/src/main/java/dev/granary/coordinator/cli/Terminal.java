package dev.granary.coordinator.cli;

import java.io.Console;

/** Tells whether a person is watching. */
final class Terminal {
    /** An environment variable by which a process tells its child that its output is shown on a terminal. */
    static final String FORCED = "GRANARY_TERMINAL";

    private Terminal() {}

    static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }
}
