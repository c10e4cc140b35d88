package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Measure of the throughput of two processes on one store, against that of one. Each is a JVM that
 * reads all entries repeatedly.
 */
final class TwoProcessReadMeasure {
    private static final int LONGEST_TURN_MILLIS = 700; // several passes of 10,000 entries
    private static final long END_SECONDS = 30;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final int turnMillis;
    private final Rounds speedups = new Rounds();

    TwoProcessReadMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
        this.turnMillis = Math.clamp(settings.entries() / 10, 50, LONGEST_TURN_MILLIS);
    }

    /** Measures the stores under {@code parent}, which no process has open. */
    void run(Path parent, long capacity) throws IOException, InterruptedException {
        for (StoreCandidate candidate : settings.candidates()) {
            workplace.say("two processes read, " + candidate.label());
            measure(candidate, parent, capacity);
        }
    }

    /** Returns the throughput of both against one alone. */
    double speedup(StoreCandidate candidate) {
        return speedups.median(candidate);
    }

    private void measure(StoreCandidate candidate, Path parent, long capacity)
            throws IOException, InterruptedException {
        try (Child one = start(candidate, parent, capacity, 1);
                Child two = start(candidate, parent, capacity, 2)) {
            one.answer();
            two.answer();
            for (int round = 0; round < settings.rounds(); round++) {
                Child single = round % 2 == 0 ? one : two;
                single.go(turnMillis);
                double alone = single.rate();
                one.go(turnMillis);
                two.go(turnMillis);
                speedups.add(candidate, (one.rate() + two.rate()) / alone);
            }
        }
    }

    private Child start(StoreCandidate candidate, Path parent, long capacity, long order)
            throws IOException {
        Process process = workplace.start(
                ReadingProcess.class,
                parent.toString(),
                candidate.name(),
                Long.toString(capacity),
                Integer.toString(settings.entries()),
                Long.toString(settings.seed() + order));
        return new Child(
                process, process.inputReader(UTF_8), process.outputWriter(UTF_8), workplace);
    }

    /** A reading process, controlled by lines on its streams. */
    private record Child(
            Process process, BufferedReader out, BufferedWriter in, LocalWorkspace workplace)
            implements AutoCloseable {
        String answer() throws IOException {
            String line = out.readLine();
            if (line == null) {
                throw new IOException("a reading process ended: " + workplace.errors());
            }
            return line;
        }

        void go(int millis) throws IOException {
            in.write(millis + "\n");
            in.flush();
        }

        double rate() throws IOException {
            return Double.parseDouble(answer());
        }

        @Override
        public void close() throws IOException {
            in.close();
            try {
                if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }
}
