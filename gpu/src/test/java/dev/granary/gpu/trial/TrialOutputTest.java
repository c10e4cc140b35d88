package dev.granary.gpu.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.IOException;

/** Tests of outputs that a driver fills with lines of its own. */
class TrialOutputTest {
    private static final String CHATTER = "POCL: [debug] clCreateKernel\n".repeat(100_000);

    @Test
    @DisplayName("N7 a driver that prints megabytes has survived if it returned")
    void longOutput() throws Exception {
        assertEquals(
                new TrialOutput(true, true, "POCL: [debug] clCreateKernel"),
                read(CHATTER + "\n" + TrialMain.RESTORING + "\n" + CHATTER + "\n"
                        + TrialMain.RESTORED + "\n"));
    }

    @Test
    @DisplayName("N7 an output that ends within the restore has its last line as the cause")
    void ended() throws Exception {
        assertEquals(
                new TrialOutput(true, false, "Segmentation fault"),
                read("\n" + TrialMain.RESTORING + "\n" + CHATTER + "Segmentation fault"));
        assertEquals(new TrialOutput(false, false, "no loader"), read("no loader\r\n\n"));
        assertEquals(new TrialOutput(false, false, ""), read(""));
    }

    @Test
    @DisplayName("a line without an end takes bounded memory, and is none of the trial's own")
    void longLine() throws Exception {
        assertEquals(1 << 10, read("x".repeat(5_000_000)).lastLine().length());
        assertFalse(read(TrialMain.RESTORED + "x".repeat(5_000_000)).hasReturned());
    }

    private static TrialOutput read(String text) throws IOException {
        return TrialOutput.read(new ByteArrayInputStream(text.getBytes(UTF_8)));
    }
}
