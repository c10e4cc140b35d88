package dev.granary.local.store;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;

/** Log of failed file operations: counts them, and warns once per kind. Thread-safe. */
public final class IoFailureLog {
    /** Kind of the failed operation. */
    public enum Kind {
        READING("An entry could not be read; it counts as a miss"),
        WRITING("An entry could not be written; it is not stored"),
        REMOVING("An entry could not be removed; the capacity may be exceeded"),
        STAMPING("The last uses of entries could not be written; eviction falls back to earlier"
                + " ones"),
        ACCOUNTING("The state of the store could not be read or repaired"),
        SWEEPING("Space could not be reclaimed; the capacity may be exceeded");

        private final String meaning;

        Kind(String meaning) {
            this.meaning = meaning;
        }
    }

    /**
     * Holder of the logger, initialised at the first failure: finding a logger costs more than the
     * first lookup.
     */
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
            Log.LOG.warn(
                    "{} ({}). Further failures of this kind are counted, not logged.",
                    kind.meaning,
                    cause.toString());
        }
    }

    public long count() {
        return count.sum();
    }
}
