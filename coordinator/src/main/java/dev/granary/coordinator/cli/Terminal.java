package dev.granary.coordinator.cli;

/** Tells whether a person is watching. */
final class Terminal {
    private Terminal() {}

    static boolean isTerminal() {
        return System.console().isTerminal();
    }
}
