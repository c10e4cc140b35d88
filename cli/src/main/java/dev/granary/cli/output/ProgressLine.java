package dev.granary.cli.output;

import dev.granary.coordinator.stores.SilenceMonitor;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Shows how far long work is, on one line of a terminal that is written again and again; silent where the output is no terminal. Thread-safe.
 *
 * <p>With {@link #watching} it also says which bucket it is that nothing comes from.
 */
public final class ProgressLine implements AutoCloseable {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long WATCH_MILLIS = 500;

    private final PrintWriter err;
    private final String work;
    private final int total;
    private final boolean isShown;
    private int shownLength; // guarded by this
    private long shownNanos; // guarded by this
    private String reached = ""; // guarded by this
    private boolean isWaitShown; // guarded by this
    private boolean isClosed; // guarded by this
    private @Nullable Thread watcher; // guarded by this

    public ProgressLine(PrintWriter err, String work, int total) {
        this(err, work, total, Terminal.isTerminal());
    }

    ProgressLine(PrintWriter err, String work, int total, boolean isShown) {
        this.err = err;
        this.work = work;
        this.total = total;
        this.isShown = isShown;
    }

    /** Says, from now on, for which bucket it waits where one is silent. */
    public ProgressLine watching(SilenceMonitor waits) {
        return watching(waits::longest);
    }

    /** Like {@link #watching(SilenceMonitor)}. */
    synchronized ProgressLine watching(Supplier<Optional<String>> waits) {
        if (isShown && watcher == null) {
            watcher = Thread.ofPlatform().daemon().name("granary-progress").start(() -> watch(waits));
        }
        return this;
    }

    private void watch(Supplier<Optional<String>> waits) {
        try {
            while (look(waits.get())) {
                Thread.sleep(WATCH_MILLIS);
            }
        } catch (InterruptedException e) {
            // closed
        }
    }

    /** Shows that wait in place of what was reached, and what was reached when the wait is over; false when closed. */
    synchronized boolean look(Optional<String> wait) {
        if (isClosed) {
            return false;
        }
        if (wait.isPresent()) {
            write(work + ": " + wait.get());
            isWaitShown = true;
        } else if (isWaitShown) {
            write(reached);
            isWaitShown = false;
        }
        return true;
    }

    /** Item number {@code done}, counted from 0, is about to be worked on. */
    public void at(int done, String item) {
        show(work + " " + (done + 1) + "/" + total + " " + item);
    }

    private synchronized void show(String line) {
        reached = line;
        if (!isWaitShown) {
            write(line);
        }
        shownNanos = System.nanoTime();
    }

    /** Called with the lock held. */
    private void write(String line) {
        if (isShown && !isClosed) {
            err.print("\r" + line + " ".repeat(Math.max(0, shownLength - line.length())));
            err.flush();
            shownLength = line.length();
        }
    }

    /** As {@link #at}, for items of which many pass in a moment: not every one is shown. */
    public synchronized void passing(int done, String item) {
        if (isDue()) {
            at(done, item);
        }
    }

    /** How far work is that has no numbered items; not every call is shown. */
    public synchronized void passing(String howFar) {
        if (isDue()) {
            show(work + " " + howFar);
        }
    }

    private synchronized boolean isDue() {
        return isShown && (reached.isEmpty() || System.nanoTime() - shownNanos > PAUSE_NANOS);
    }

    /** Removes the line. */
    @Override
    public synchronized void close() {
        if (isShown && shownLength > 0 && !isClosed) {
            err.print("\r" + " ".repeat(shownLength) + "\r");
            err.flush();
        }
        isClosed = true;
        if (watcher != null) {
            watcher.interrupt();
        }
    }
}
