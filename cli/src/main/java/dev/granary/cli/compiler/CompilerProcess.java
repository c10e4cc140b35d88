package dev.granary.cli.compiler;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonParseException;

import dev.granary.cache.KernelBinaries;
import dev.granary.cli.compiler.CompilerProcessException.Kind;
import dev.granary.cli.process.JvmCommand;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A running compiler process, as its parent sees it. Used by one thread at a time.
 *
 * <p>The output of the process is read continuously, and its last lines are kept: they show why it
 * ended.
 */
final class CompilerProcess implements AutoCloseable {
    private static final int KEPT_LINES = 100;
    private static final int KEPT_CHARACTERS = 500;
    private static final long END_SECONDS = 2;
    private static final String BINARY_PREFIX = "stored-";

    private final Path directory;
    private final Process process;
    private final Writer requests;
    private final String token = UUID.randomUUID().toString();
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final Deque<String> lastLines = new ArrayDeque<>(); // guarded by itself

    /** An event in the output of the process. */
    private enum Event {
        RESPONDED,
        ENDED
    }

    /**
     * Starts a process.
     *
     * @param directory a directory that no other process uses; it is created
     */
    CompilerProcess(Path directory) throws IOException {
        this.directory = Files.createDirectory(directory);
        List<String> command = new ArrayList<>(
                JvmCommand.command(CompilerMain.class, token, directory.toString()));
        command.addAll(
                1,
                List.of(
                        "-XX:TieredStopAtLevel=1",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=" + directory.resolve("jvm-crash.log")));
        this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
        this.requests = process.outputWriter(UTF_8);
        Thread.ofPlatform().daemon().name("granary-compiler-output").start(this::readOutput);
    }

    private void readOutput() {
        try (BufferedReader lines = process.inputReader(UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals(token)) {
                    events.add(Event.RESPONDED);
                } else if (!line.isBlank()) {
                    keep(line);
                }
            }
        } catch (IOException e) {
            // closed by its end
        } finally {
            events.add(Event.ENDED);
        }
    }

    private void keep(String line) {
        synchronized (lastLines) {
            lastLines.add(
                    line.length() <= KEPT_CHARACTERS ? line : line.substring(0, KEPT_CHARACTERS));
            if (lastLines.size() > KEPT_LINES) {
                lastLines.remove();
            }
        }
    }

    /** Writes binaries for the next request, and returns the names of their files. */
    List<String> write(KernelBinaries binaries) throws IOException {
        return BinaryFiles.write(directory, BINARY_PREFIX, binaries);
    }

    /** Reads the binaries of the last response. */
    KernelBinaries read(List<String> names) throws IOException {
        return BinaryFiles.read(directory, names);
    }

    /**
     * Sends a request and waits for the response. After an exception the process is of no use, and
     * must be closed.
     *
     * @throws CompilerProcessException if the process ends, or does not respond within the limit
     * @throws InterruptedException if the current thread is interrupted
     */
    CompilerResponse request(Record request, Duration limit)
            throws CompilerProcessException, InterruptedException {
        try {
            synchronized (lastLines) {
                lastLines.clear();
            }
            try {
                requests.write(CompilerMessages.encode(request) + "\n");
                requests.flush();
            } catch (IOException e) {
                // it has ended, which the next event shows
            }
            Event event = events.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (event == null) {
                throw new CompilerProcessException(Kind.TIMED_OUT, overdue(request, limit));
            }
            if (event == Event.ENDED) {
                process.waitFor(END_SECONDS, TimeUnit.SECONDS);
                throw new CompilerProcessException(
                        Kind.CRASHED, CompilerDeath.cause(exitCode(), lines()));
            }
            return CompilerMessages.decode(
                    Files.readString(directory.resolve(CompilerMain.RESPONSE_FILE)),
                    CompilerResponse.class);
        } catch (IOException | JsonParseException e) {
            throw new CompilerProcessException(
                    Kind.CRASHED, "the response of the compiler process cannot be read: " + e);
        }
    }

    private static String overdue(Record request, Duration limit) {
        return request instanceof CompilerRequest.Open
                ? "the driver did not open the device within " + limit.toSeconds()
                        + " s and was killed"
                : overdue(limit);
    }

    /** Returns the cause of a failure for a compiler that was killed at its limit. */
    static String overdue(Duration limit) {
        return "the compiler did not end within " + limit.toSeconds()
                + " s (--compile-limit) and was killed";
    }

    private int exitCode() {
        return process.isAlive() ? 0 : process.exitValue();
    }

    private List<String> lines() {
        synchronized (lastLines) {
            return List.copyOf(lastLines);
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the input of the process, which ends at once if it is idle. */
    void finish() {
        try {
            requests.close();
        } catch (IOException e) {
            // it has ended
        }
    }

    /** Kills the process, if it has not ended, and waits a short time for its end. */
    @Override
    public void close() {
        try {
            if (!process.waitFor(0, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor(END_SECONDS, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the end of a process whose input has ended, then {@linkplain #close closes} it. */
    void awaitEnd() {
        try {
            process.waitFor(END_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        close();
    }
}
