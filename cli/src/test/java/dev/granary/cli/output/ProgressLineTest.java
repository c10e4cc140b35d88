package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Tests of the progress line of the terminal. */
class ProgressLineTest {
    private final StringWriter shown = new StringWriter();

    private ProgressLine progress(boolean isTerminal) {
        return new ProgressLine(new PrintWriter(shown), "warming", 3, isTerminal);
    }

    /** Returns the line as the terminal shows it. */
    private String line() {
        String all = shown.toString();
        return all.substring(all.lastIndexOf('\r') + 1).strip();
    }

    @Test
    @SuppressWarnings("try") // closed within, to test calls after that
    @DisplayName("the line shows the item, short work at most every 100 ms, and is removed at the"
            + " end; without a terminal nothing is shown")
    void shown() {
        try (ProgressLine progress = progress(true)) {
            progress.passing(() -> "1/3 first");
            assertEquals("warming 1/3 first", line());
            progress.passing(() -> "too soon");
            assertEquals("warming 1/3 first", line());
            progress.at(1, "2nd");
            assertEquals("warming 2/3 2nd", line());
            progress.close();
            assertEquals("", line());
            progress.at(2, "late");
            assertEquals("", line());
        }
        shown.getBuffer().setLength(0);
        try (ProgressLine progress = progress(false)) {
            progress.at(0, "first");
            progress.passing(() -> "state");
        }
        assertEquals("", shown.toString());
    }
}
