package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Tests of labelled text. */
class WrappedTextTest {
    private static String printed(String label, String text) {
        StringWriter out = new StringWriter();
        WrappedText.print(new PrintWriter(out), label, text);
        return out.toString();
    }

    @Test
    @DisplayName("Control characters reach the terminal neither from the label nor from the text")
    void controls() {
        assertEquals(
                "a?[2J?b    one two" + System.lineSeparator(),
                printed("a\u001b[2J\nb", "one\u001btwo\u009b"));
    }
}
