package dev.granary.cli.output;

import dev.granary.coordinator.Granary;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import org.jspecify.annotations.Nullable;

import java.io.Console;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Progress indicator on one line of a terminal, which is rewritten in place. It prints nothing if
 * the output is not a terminal. Thread-safe.
 *
 * <p>With {@link #watching} it also shows the bucket from which no bytes have arrived for a while.
 */
public final class ProgressLine implements AutoCloseable {
    private static final long UPDATE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long POLL_MILLIS = 500;

    /** The shortest silence that is shown. */
    private static final Duration MIN_SILENCE = Duration.ofSeconds(2);

    private final PrintWriter err;
    private final String work;
    private final int total;
    private final boolean isShown;
    private int printedLength; // guarded by this
    private long printedNanos; // guarded by this
    private String progress = ""; // guarded by this
    private boolean isShowingWait; // guarded by this
    private boolean isClosed; // guarded by this
    private @Nullable Thread watcher; // guarded by this

    public ProgressLine(PrintWriter err, String work, int total) {
        this(err, work, total, isTerminal());
    }

    ProgressLine(PrintWriter err, String work, int total, boolean isShown) {
        this.err = err;
        this.work = work;
        this.total = total;
        this.isShown = isShown;
    }

    /** Returns true if the output of this process is shown on a terminal. */
    @SuppressWarnings("SystemConsoleNull") // null if the chosen console provider has none
    public static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    /** Starts to show the layer that is waited for whenever one is silent. */
    public ProgressLine watching(Granary granary) {
        return watching(() -> granary.statistics().layers().stream()
                .collect(Collectors.toMap(LayerStatistics::name, LayerStatistics::quiet)));
    }

    /**
     * Starts to show the bucket that is waited for whenever one is silent.
     *
     * @param silence returns for each bucket the time since it sent anything; zero if no request is
     *     in progress
     */
    public synchronized ProgressLine watching(Supplier<Map<String, Duration>> silence) {
        if (isShown && watcher == null) {
            watcher = Thread.ofPlatform()
                    .daemon()
                    .name("granary-progress")
                    .start(() -> watch(silence));
        }
        return this;
    }

    /** Returns the longest silence in words; empty if none is longer than 2 s. */
    static Optional<String> longest(Map<String, Duration> silence) {
        return silence.entrySet().stream()
                .filter(wait -> wait.getValue().compareTo(MIN_SILENCE) > 0)
                .max(Map.Entry.comparingByValue())
                .map(wait -> "waiting for " + wait.getKey() + ": nothing received for "
                        + wait.getValue().toSeconds() + " s");
    }

    private void watch(Supplier<Map<String, Duration>> silence) {
        try {
            while (poll(longest(silence.get()))) {
                Thread.sleep(POLL_MILLIS);
            }
        } catch (InterruptedException e) {
            // closed
        }
    }

    /** Shows the wait, or the progress again when the wait is over. Returns false if closed. */
    synchronized boolean poll(Optional<String> wait) {
        if (isClosed) {
            return false;
        }
        if (wait.isPresent()) {
            write(work + ": " + wait.get());
            isShowingWait = true;
        } else if (isShowingWait) {
            write(progress);
            isShowingWait = false;
        }
        return true;
    }

    /** Shows that work on item number {@code done}, counted from 0, begins. */
    public void at(int done, String item) {
        show(work + " " + (done + 1) + "/" + total + " " + item);
    }

    private synchronized void show(String line) {
        progress = line;
        if (!isShowingWait) {
            write(line);
        }
        printedNanos = System.nanoTime();
    }

    /** Writes the line. Called with the lock held. */
    private void write(String line) {
        if (isShown && !isClosed) {
            err.print("\r" + line + " ".repeat(Math.max(0, printedLength - line.length())));
            err.flush();
            printedLength = line.length();
        }
    }

    /** Like {@link #at}, but limited to one update per 100 ms, for short work on many items. */
    public synchronized void passing(int done, String item) {
        if (isDue()) {
            at(done, item);
        }
    }

    /** Shows the progress of work without numbered items, at most one update per 100 ms. */
    public synchronized void passing(String state) {
        if (isDue()) {
            show(work + " " + state);
        }
    }

    private synchronized boolean isDue() {
        return isShown && (progress.isEmpty() || System.nanoTime() - printedNanos > UPDATE_NANOS);
    }

    /** Removes the line. */
    @Override
    public synchronized void close() {
        if (isShown && printedLength > 0 && !isClosed) {
            err.print("\r" + " ".repeat(printedLength) + "\r");
            err.flush();
        }
        isClosed = true;
        if (watcher != null) {
            watcher.interrupt();
        }
    }
}
