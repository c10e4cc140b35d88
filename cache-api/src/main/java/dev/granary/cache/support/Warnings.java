package dev.granary.cache.support;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Log of failures that do not reach the caller: one line per kind and hour, so that a broken disk
 * does not flood the log, and an outage that returns is seen again. Thread-safe.
 */
public final class Warnings {
    private static final long PERIOD_NANOS = TimeUnit.HOURS.toNanos(1);
    private static final Logger LOG = LoggerFactory.getLogger("dev.granary");
    private static final Warnings PROCESS = new Warnings(System::nanoTime);

    /** The last line of a kind, and the number of messages that were left out since. */
    private record Last(long nanos, long omitted) {}

    private final Map<String, Last> kinds = new HashMap<>();
    private final LongSupplier clock;

    Warnings(LongSupplier clock) {
        this.clock = clock;
    }

    /** Logs {@code message} as a warning, unless one of its kind was logged within the hour. */
    public static void warn(String kind, String message) {
        warn(LOG, kind, message);
    }

    /**
     * As {@link #warn(String, String)}, by a logger of its own, which an application may switch.
     */
    public static void warn(Logger logger, String kind, String message) {
        PROCESS.add(kind, message, line -> logger.warn("{}", line));
    }

    void add(String kind, String message, Consumer<String> log) {
        long omitted;
        synchronized (kinds) {
            long now = clock.getAsLong();
            Last last = kinds.get(kind);
            if (last != null && now - last.nanos() < PERIOD_NANOS) {
                kinds.put(kind, new Last(last.nanos(), last.omitted() + 1));
                return;
            }
            omitted = last == null ? 0 : last.omitted();
            kinds.put(kind, new Last(now, 0));
        }
        log.accept(omitted == 0 ? message : message + " (and " + omitted + " more of this kind)");
    }
}
