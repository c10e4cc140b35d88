package dev.granary.s3.history;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** The events of a history, in order, for people. Thread-safe. */
final class Trace {
    private static final int LAST_LINES = 400;

    private final List<String> lines = new ArrayList<>();
    private final boolean isKept;
    private int events;

    Trace(boolean isKept) {
        this.isKept = isKept;
    }

    synchronized void add(Supplier<String> line) {
        events++;
        if (isKept) {
            lines.add(line.get());
        }
    }

    /** Returns the number of events, the length of the history. */
    synchronized int events() {
        return events;
    }

    synchronized String text() {
        List<String> last = lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size());
        return String.join("\n", last);
    }
}
