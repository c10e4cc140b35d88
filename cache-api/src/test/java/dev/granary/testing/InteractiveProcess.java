package dev.granary.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.util.Objects;

/**
 * A child process that a test controls line by line: commands go to its standard input, answers
 * come from its standard output.
 */
public final class InteractiveProcess implements AutoCloseable {
    private final Process process;
    private final Writer commands;
    private final BufferedReader answers;

    /** Takes over the streams of {@code process}. */
    public InteractiveProcess(Process process) {
        this.process = process;
        this.commands = process.outputWriter(UTF_8);
        this.answers = process.inputReader(UTF_8);
    }

    /** Sends a command without waiting for an answer. */
    public void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    /** Waits for the next line that the process writes. */
    public String answer() throws IOException {
        return Objects.requireNonNull(
                answers.readLine(), "the process has ended, or closed its output");
    }

    /** Sends a command, and waits for the answer. */
    public String request(String command) throws IOException {
        send(command);
        return answer();
    }

    /** Ends the input of the process, and waits until it exits by itself. */
    public int finish() throws IOException, InterruptedException {
        commands.close();
        return process.waitFor();
    }

    /** Kills the process, as {@code kill -9} does, and waits until it is gone. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Returns the id of the process. */
    public long pid() {
        return process.pid();
    }

    /** Kills the process without waiting. */
    @Override
    public void close() {
        process.destroyForcibly();
    }
}
