package dev.granary.coordinator.cli;

import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;

/** Shows how far long work is, on one line of a terminal that is written again and again; silent where the output is no terminal. */
final class Progress implements AutoCloseable {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final PrintWriter err;
    private final String work;
    private final int total;
    private final boolean isShown;
    private int shownLength;
    private long shownNanos;

    Progress(PrintWriter err, String work, int total) {
        this.err = err;
        this.work = work;
        this.total = total;
        this.isShown = Terminal.isTerminal();
    }

    /** Item number {@code done}, counted from 0, is about to be worked on. */
    void at(int done, String item) {
        show(work + " " + (done + 1) + "/" + total + " " + item);
    }

    private synchronized void show(String line) {
        if (isShown) {
            err.print("\r" + line + " ".repeat(Math.max(0, shownLength - line.length())));
            err.flush();
            shownLength = line.length();
        }
    }

    /** As {@link #at}, for items of which many pass in a moment: not every one is shown. */
    void passing(int done, String item) {
        if (isShown && (shownLength == 0 || System.nanoTime() - shownNanos > PAUSE_NANOS)) {
            at(done, item);
            shownNanos = System.nanoTime();
        }
    }

    /** How far work is that has no numbered items; not every call is shown. */
    synchronized void passing(String howFar) {
        if (isShown && (shownLength == 0 || System.nanoTime() - shownNanos > PAUSE_NANOS)) {
            show(work + " " + howFar);
            shownNanos = System.nanoTime();
        }
    }

    /** Removes the line. */
    @Override
    public void close() {
        if (isShown && shownLength > 0) {
            err.print("\r" + " ".repeat(shownLength) + "\r");
            err.flush();
        }
    }
}
