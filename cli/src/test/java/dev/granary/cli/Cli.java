package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.testing.ChildJvm;

import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * Result of one run of the command.
 *
 * @param status the exit code
 * @param out the text of standard output
 * @param err the text of standard error
 */
public record Cli(int status, String out, String err) {
    /** Runs the command in this JVM. */
    public static Cli run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine line = Main.commandLine(arguments)
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err));
        int status = line.execute(arguments);
        Cli result = new Cli(status, out.toString(), err.toString());
        assertFalse((result.out + result.err).contains("\tat "), () -> "a stack trace: " + result);
        return result;
    }

    /** Returns the result of the command in its own JVM. */
    public static Cli of(ChildJvm.Result result) {
        return new Cli(result.exitCode(), result.out(), result.err());
    }

    /** Checks the exit code. */
    public Cli exits(int expected) {
        assertEquals(expected, status, this::toString);
        return this;
    }

    /** Checks that standard error contains each of these texts. */
    public Cli reports(String... parts) {
        for (String part : parts) {
            assertTrue(err.contains(part), () -> "'" + part + "' is not in: " + err);
        }
        return this;
    }

    /** Checks that standard output contains each of these texts. */
    public Cli prints(String... parts) {
        for (String part : parts) {
            assertTrue(out.contains(part), () -> "'" + part + "' is not in: " + out);
        }
        return this;
    }

    /** Checks that no line of standard output is wider than 80 columns. */
    public Cli isNarrow() {
        out.lines()
                .forEach(line ->
                        assertTrue(line.length() <= 80, () -> line.length() + " columns: " + line));
        return this;
    }

    /** Returns standard output, which must be one JSON object and nothing else. */
    public JsonObject json() {
        return JsonParser.parseString(out).getAsJsonObject();
    }
}
