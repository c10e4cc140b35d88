package dev.granary.local.store;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts what the file system refuses to do, and warns once per kind. Thread-safe. */
public final class IoFailureLog {
    /** What was being done. */
    public enum Kind {
        READING("An entry could not be read; it counts as a miss"),
        WRITING("An entry could not be written; it is not kept"),
        REMOVING("An entry could not be removed; the capacity may be exceeded"),
        STAMPING("The last uses of entries could not be written; eviction falls back to earlier ones"),
        ACCOUNTING("The state of the store could not be read or put in order"),
        SWEEPING("Room could not be given back; the capacity may be exceeded");

        private final String meaning;

        Kind(String meaning) {
            this.meaning = meaning;
        }
    }

    /** Looking for a logger costs more than the first look-up: done when there is something to say. */
    private static final class Log {
        static final Logger LOG = LoggerFactory.getLogger(IoFailureLog.class);
    }

    private final LongAdder count = new LongAdder();
    private final Set<Kind> warned = EnumSet.noneOf(Kind.class);

    public void record(Kind kind, Throwable cause) {
        count.increment();
        boolean first;
        synchronized (warned) {
            first = warned.add(kind);
        }
        if (first) {
            Log.LOG.warn("{} ({}). Further failures of this kind are counted, not logged.", kind.meaning, cause.toString());
        }
    }

    public long count() {
        return count.sum();
    }
}
