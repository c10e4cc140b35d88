package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Campaign in one mode: kills processes in rounds, with an examination after each round. */
final class CrashRun {
    private final CrashMode mode;
    private final Path directory;
    private final int kills;
    private final int round;
    private final SplittableRandom random;
    private final PrintWriter progress;
    private final AcknowledgedWrites journal = new AcknowledgedWrites();
    private final CrashFindings finding = new CrashFindings();
    private int killed;
    private int killedInStartUp;
    private int examinations;
    private double seconds;

    /**
     * Creates a run.
     *
     * @param directory the working directory, missing or empty
     * @param kills the number of processes to kill
     * @param round the number of kills before each examination
     * @param progress receives the progress
     */
    CrashRun(
            CrashMode mode,
            Path directory,
            int kills,
            int round,
            SplittableRandom random,
            PrintWriter progress) {
        this.mode = mode;
        this.directory = directory;
        this.kills = kills;
        this.round = round;
        this.random = random;
        this.progress = progress;
    }

    CrashRun run() throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (killed < kills) {
            int now = Math.min(round, kills - killed);
            kill(now);
            killed += now;
            finding.addAll(examine(killed == kills));
            examinations++;
            seconds = (System.nanoTime() - start) / 1e9;
            progress.printf(
                    Locale.ROOT,
                    "%s: %d of %d killed, %.0f s, %d stores acknowledged, %s%n",
                    mode,
                    killed,
                    kills,
                    seconds,
                    journal.count(AcknowledgedWrites.ACKNOWLEDGED),
                    finding.isClean() ? "nothing wrong" : "WRONG: " + finding.json());
            progress.flush();
        }
        return this;
    }

    private void kill(int count) throws IOException, InterruptedException {
        AtomicInteger left = new AtomicInteger(count);
        List<KillLoop> seats = new ArrayList<>();
        for (int i = 0; i < mode.roles().size(); i++) {
            seats.add(new KillLoop(directory, mode, i, random.split(), journal, left));
        }
        try (ExecutorService threads =
                Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            List<Future<?>> running = new ArrayList<>();
            seats.forEach(seat -> running.add(threads.submit(seat)));
            for (Future<?> each : running) {
                each.get();
            }
        } catch (ExecutionException e) {
            throw new IOException("the processes could not be killed", e);
        }
        killedInStartUp += seats.stream().mapToInt(KillLoop::killedInStartUp).sum();
    }

    private CrashFindings examine(boolean isLast) throws IOException, InterruptedException {
        Process process =
                KillLoop.start(directory, mode, PostCrashCheck.class, isLast ? "last" : "more");
        try (Writer in = process.outputWriter(UTF_8)) {
            journal.keys()
                    .forEach((key, known) -> line(
                            in, key + " " + known.acknowledged() + " " + known.begun() + "\n"));
        }
        try (BufferedReader out = process.inputReader(UTF_8)) {
            String result = out.readLine();
            if (!process.waitFor(1, TimeUnit.MINUTES) || result == null) {
                process.destroyForcibly();
                throw new IOException("the examination failed");
            }
            return CrashFindings.of(JsonParser.parseString(result).getAsJsonObject());
        }
    }

    private static void line(Writer in, String line) {
        try {
            in.write(line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    boolean isClean() {
        return finding.isClean()
                && wrongInFlight() == 0
                && (mode != CrashMode.KEEP || journal.count(AcknowledgedWrites.EVICTED) == 0);
    }

    CrashMode mode() {
        return mode;
    }

    CrashFindings finding() {
        return finding;
    }

    /**
     * Returns the number of entries that processes read with wrong bytes, or older than
     * acknowledged.
     */
    long wrongInFlight() {
        return journal.count(AcknowledgedWrites.WRONG);
    }

    JsonObject json() {
        JsonObject json = new JsonObject();
        json.addProperty("mode", mode.name());
        json.addProperty("killed", killed);
        json.addProperty("killedInStartUp", killedInStartUp);
        json.addProperty("seconds", seconds);
        json.addProperty("examinations", examinations);
        json.addProperty("begun", journal.count(AcknowledgedWrites.BEGUN));
        json.addProperty("acknowledged", journal.count(AcknowledgedWrites.ACKNOWLEDGED));
        json.addProperty("failed", journal.count(AcknowledgedWrites.FAILED));
        json.addProperty("hits", journal.count(AcknowledgedWrites.HIT));
        json.addProperty("evictingSweeps", journal.count(AcknowledgedWrites.EVICTED));
        json.addProperty("missed", journal.count(AcknowledgedWrites.MISSED));
        json.addProperty("wrongInFlight", wrongInFlight());
        json.add("found", finding.json());
        JsonArray examples = new JsonArray();
        journal.examples().forEach(examples::add);
        json.add("examples", examples);
        return json;
    }
}
