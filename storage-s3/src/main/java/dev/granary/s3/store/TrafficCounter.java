package dev.granary.s3.store;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counter of what one bucket sends, for progress displays and the circuit breaker. Thread-safe. */
public final class TrafficCounter {
    private final AtomicInteger inProgress = new AtomicInteger();
    private final LongAdder received = new LongAdder();
    private volatile long lastNanos = System.nanoTime();

    /** Creates a counter without requests. */
    public TrafficCounter() {}

    /** Records that a request is sent. */
    public void begin() {
        if (inProgress.getAndIncrement() == 0) {
            lastNanos = System.nanoTime();
        }
    }

    /** Adds received bytes of a body, or one for a response without a body. */
    public void received(long bytes) {
        received.add(bytes);
        lastNanos = System.nanoTime();
    }

    /** Records that a request has ended. */
    public void end() {
        inProgress.decrementAndGet();
    }

    /** Returns the sum of {@link #received}. */
    public long received() {
        return received.sum();
    }

    /** Returns the time since anything was received; zero if no request is in progress. */
    public Duration quiet() {
        return inProgress.get() == 0
                ? Duration.ZERO
                : Duration.ofNanos(Math.max(0, System.nanoTime() - lastNanos));
    }
}
