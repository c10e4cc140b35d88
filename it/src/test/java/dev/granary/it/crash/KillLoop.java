package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.testing.ChildJvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Loop that starts a process on the directory and kills it at a random moment, until enough were
 * killed.
 */
final class KillLoop implements Runnable {
    private static final int START_UP_ODDS = 8;
    private static final int START_UP_MILLIS = 1000;
    private static final int MIN_LIFE_MILLIS = 50;
    private static final int MAX_LIFE_MILLIS = 500;
    private static final int MAX_START_SECONDS = 60;

    private final Path directory;
    private final CrashMode mode;
    private final int number;
    private final SplittableRandom random;
    private final AcknowledgedWrites journal;
    private final AtomicInteger killsLeft;
    private int killedInStartUp;

    KillLoop(
            Path directory,
            CrashMode mode,
            int number,
            SplittableRandom random,
            AcknowledgedWrites journal,
            AtomicInteger killsLeft) {
        this.directory = directory;
        this.mode = mode;
        this.number = number;
        this.random = random;
        this.journal = journal;
        this.killsLeft = killsLeft;
    }

    /** Returns the number of processes that were killed before they were ready. */
    int killedInStartUp() {
        return killedInStartUp;
    }

    @Override
    public void run() {
        try {
            while (killsLeft.getAndDecrement() > 0) {
                runOne();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void runOne() throws IOException, InterruptedException {
        Process process = start(
                directory,
                mode,
                CrashChildProcess.class,
                mode.roles().get(number).name(),
                Integer.toString(number),
                Long.toString(random.nextLong()),
                Long.toString(journal.lastVersion() + 1));
        CountDownLatch ready = new CountDownLatch(1);
        Thread reader = Thread.ofPlatform().start(() -> read(process, ready));
        if (random.nextInt(START_UP_ODDS) == 0) {
            Thread.sleep(random.nextInt(START_UP_MILLIS));
        } else {
            boolean isReady = ready.await(MAX_START_SECONDS, TimeUnit.SECONDS);
            if (!isReady || !process.isAlive()) {
                process.toHandle().destroyForcibly();
                throw new IOException("a process ended by itself, or did not start");
            }
            Thread.sleep(random.nextInt(MIN_LIFE_MILLIS, MAX_LIFE_MILLIS));
        }
        killedInStartUp += ready.getCount() > 0 ? 1 : 0;
        if (!process.isAlive()) {
            throw new IOException(
                    "a process ended by itself, with exit code " + process.exitValue());
        }
        // SIGKILL by the handle: Process would close the unread output
        process.toHandle().destroyForcibly();
        process.waitFor();
        reader.join();
    }

    private void read(Process process, CountDownLatch ready) {
        try (BufferedReader out = process.inputReader(UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                journal.note(line);
                if (line.equals(AcknowledgedWrites.READY)) {
                    ready.countDown();
                }
            }
        } catch (IOException e) {
            journal.note(AcknowledgedWrites.WRONG + " reader " + e);
        } finally {
            ready.countDown();
        }
    }

    /** Starts a class in a process of its own. */
    static Process start(Path directory, CrashMode mode, Class<?> main, String... arguments)
            throws IOException {
        List<String> all = new ArrayList<>(List.of(directory.toString(), mode.name()));
        all.addAll(List.of(arguments));
        return ChildJvm.of(main)
                .shortLived()
                .flags("-XX:-UsePerfData") // its files would stay behind
                .start(all.toArray(String[]::new));
    }
}
