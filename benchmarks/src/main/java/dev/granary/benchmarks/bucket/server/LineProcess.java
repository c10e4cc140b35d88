package dev.granary.benchmarks.bucket.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A process that answers each line of its input with a line, and ends when its input ends. */
public final class LineProcess implements AutoCloseable {
    private static final long END_SECONDS = 30;

    private final BucketWorkspace.Started started;
    private final BufferedReader out;
    private final BufferedWriter in;

    private LineProcess(BucketWorkspace.Started started) {
        this.started = started;
        this.out = started.process().inputReader(UTF_8);
        this.in = started.process().outputWriter(UTF_8);
    }

    public static LineProcess start(
            BucketWorkspace workplace, List<String> command, Map<String, String> environment)
            throws IOException {
        return new LineProcess(workplace.start(command, environment));
    }

    /**
     * Returns the answer to a line.
     *
     * @throws IOException if the process has ended
     */
    public String ask(String line) throws IOException {
        in.write(line + "\n");
        in.flush();
        String answer = out.readLine();
        if (answer == null) {
            throw new IOException("a process ended: " + started.errors());
        }
        return answer;
    }

    @Override
    public void close() throws IOException {
        Process process = started.process();
        try {
            in.close();
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.destroyForcibly();
        }
    }
}
