package dev.granary.cache;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The end of the time that a caller waits, on a monotonic clock. It is made once per caller and
 * passed down; whoever waits for it asks how much is left. Immutable and thread-safe.
 */
public final class Deadline {
    /** No deadline: the rest is {@link Long#MAX_VALUE}. */
    public static final Deadline NONE = new Deadline(0, Long.MAX_VALUE, () -> 0);

    private final long start;
    private final long limit; // in nanoseconds after the start
    private final LongSupplier clock;

    private Deadline(long start, long limit, LongSupplier clock) {
        this.start = start;
        this.limit = limit;
        this.clock = clock;
    }

    /** Returns the deadline that ends after {@code limit}; one of 292 years or more has no end. */
    public static Deadline after(Duration limit) {
        return after(limit, System::nanoTime);
    }

    /**
     * Returns the deadline that ends after {@code limit} by that clock.
     *
     * @param clock returns the nanoseconds since an arbitrary moment
     */
    public static Deadline after(Duration limit, LongSupplier clock) {
        return new Deadline(clock.getAsLong(), TimeUnit.NANOSECONDS.convert(limit), clock);
    }

    /** Returns the nanoseconds that are left; 0 if the deadline is over. */
    public long left() {
        return limit == Long.MAX_VALUE
                ? Long.MAX_VALUE
                : Math.max(0, limit - (clock.getAsLong() - start));
    }

    /** Returns true if no time is left. */
    public boolean isOver() {
        return left() == 0;
    }

    /** Returns this deadline, or the one {@code nanos} nanoseconds from now if that is earlier. */
    public Deadline within(long nanos) {
        if (nanos >= left()) {
            return this;
        }
        LongSupplier time = limit == Long.MAX_VALUE ? System::nanoTime : clock;
        return new Deadline(time.getAsLong(), nanos, time);
    }

    /** Returns the deadline that has an equal share, one of {@code parts}, of the time left. */
    public Deadline share(int parts) {
        return limit == Long.MAX_VALUE ? this : within(left() / parts);
    }
}
